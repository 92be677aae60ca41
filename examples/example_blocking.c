/* example_blocking.c -- single rows, and a transfer of money as a transaction that is tried again
 * when it must be. */
/* SPDX-License-Identifier: MIT */
#include "example_common.h"

struct transfer {
    struct example *e;
    uint32_t from;
    uint32_t to;
    int64_t amount;
};

/* Reads both accounts with locks, changes and commits them. Run again by the library after
 * temporary errors. */
static int transfer(struct ndb_transaction *t, void *context)
{
    struct transfer *job = context;
    const struct ndb_record *record = job->e->record;
    struct account a = {.id = job->from};
    struct account b = {.id = job->to};
    struct ndb_operation_options locked = {.lock = NDB_LOCK_EXCLUSIVE,
                                           .flags = NDB_OP_ABORT_ON_ERROR};

    if (ndb_read(t, record, &a, record, &a, &locked) == NULL) return -1;
    if (ndb_read(t, record, &b, record, &b, &locked) == NULL) return -1;
    if (ndb_execute(t, NDB_NO_COMMIT, 0) != 0) return -1;
    a.balance -= job->amount;
    b.balance += job->amount;
    if (ndb_update(t, record, &a, record, &a, NULL) == NULL) return -1;
    if (ndb_update(t, record, &b, record, &b, NULL) == NULL) return -1;
    return ndb_execute(t, NDB_COMMIT, 0);
}

int main(int argc, char **argv)
{
    struct example e = example_open(argc, argv);
    struct account ann = {.id = 1, .balance = 100, .owner = "Ann"};
    struct account bob = {.id = 2, .balance = 50, .owner = "Bob"};
    struct account missing = {.id = 999999};
    struct transfer job = {.e = &e, .from = 1, .to = 2, .amount = 30};

    if (ndb_write_row(e.ndb, e.record, &ann, 0) != 0) fail("write", ndb_error(e.ndb));
    if (ndb_write_row(e.ndb, e.record, &bob, 0) != 0) fail("write", ndb_error(e.ndb));
    if (ndb_run_transaction(e.ndb, transfer, &job, 5000) != 0) fail("transfer", ndb_error(e.ndb));
    if (ndb_read_row(e.ndb, e.record, &ann, 0) != 0) fail("read", ndb_error(e.ndb));
    if (ndb_read_row(e.ndb, e.record, &bob, 0) != 0) fail("read", ndb_error(e.ndb));
    printf("%s %lld, %s %lld\n", ann.owner, (long long)ann.balance, bob.owner,
           (long long)bob.balance);
    if (ann.balance != 70 || bob.balance != 80) return 1;
    if (ndb_read_row(e.ndb, e.record, &missing, 0) == 0 ||
        ndb_error(e.ndb)->classification != NDB_CLASS_NO_DATA)
        return 1;
    if (ndb_delete_row(e.ndb, e.record, &bob, 0) != 0) fail("delete", ndb_error(e.ndb));
    example_close(&e);
    printf("ok\n");
    return 0;
}
