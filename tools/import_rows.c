/* import_rows.c -- the way of a row: sent, answered, tried again, compared, rejected. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each row is a transaction of its own, so that a refused row takes no other with it and the reject
 * file can name it. A row waits in a slot with its stored values and its text until its insert is
 * answered: done, to be tried again (temporary errors, and those after which it may be there or
 * not), or rejected. When commits are lost with the cluster, all rows that are not on disk are sent
 * again.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/import_load.h"
#include "values/errors.h"

#define RETRY_MS_MAX 1000u

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void give_back(struct slot *slot)
{
    slot->next = slot->load->free;
    slot->load->free = slot;
}

bool import_slot_keep(struct slot *slot, const char *raw, size_t size)
{
    if (slot->raw_room < size) {
        char *grown = realloc(slot->raw, size * 2);
        if (grown == NULL) return false;
        slot->raw = grown;
        slot->raw_room = (uint32_t)(size * 2);
    }
    memcpy(slot->raw, raw, size);
    slot->raw_size = (uint32_t)size;
    return true;
}

/* ---- Inserts ---- */

/* Whoever reads the rejected rows may have to be waited for, which a callback must not: the
 * connection would be lost meanwhile. */
static void reject_slot(struct slot *slot, const ndb_error_t *error)
{
    struct load *load = slot->load;
    char message[600];
    bool detail = error->detail != NULL && error->detail[0] != '\0';
    bool doubt = slot->doubt && error->code != ERR_ROW_EXISTS; /* That one was compared. */

    (void)snprintf(message, sizeof(message), "%s%s%s%s", error->text, detail ? ": " : "",
                   detail ? error->detail : "",
                   doubt ? "; a former try may have put it into the table" : "");
    slot->why = strdup(message);
    slot->code = error->code;
    slot->next = NULL;
    if (load->refused == NULL)
        load->refused = slot;
    else
        load->refused_last->next = slot;
    load->refused_last = slot;
}

void import_reject_refused(struct load *load)
{
    while (load->refused != NULL) {
        struct slot *slot = load->refused;
        load->refused = slot->next;
        ndb_error_t error;
        ndb_error_lookup(slot->code, &error);
        import_reject(load, slot->number, slot->code, slot->why != NULL ? slot->why : error.text,
                      slot->raw, slot->raw_size);
        free(slot->why);
        slot->why = NULL;
        give_back(slot);
    }
}

static void retry_later(struct slot *slot, int32_t code)
{
    struct load *load = slot->load;
    uint64_t delay_ms = (uint64_t)load->settings->temporary_delay_ms * ++slot->tries;

    load->totals.retries++;
    slot->code = code;
    slot->due_ms = import_now_ms() + (delay_ms < RETRY_MS_MAX ? delay_ms : RETRY_MS_MAX);
    slot->next = load->retry;
    load->retry = slot;
}

bool import_can_repeat(const struct load *load)
{
    return load->state.ends != NULL && !load->settings->missing_ai;
}

/* Those that make a client read the table anew (api_error_is_stale()), and that it is gone. */
bool import_is_of_table(int32_t code)
{
    return code == ERR_SCHEMA_VERSION || code == ERR_TABLE_DROPPING_TC ||
           code == ERR_UNKNOWN_TABLE_TC || code == ERR_TABLE_DROPPING ||
           code == ERR_SCHEMA_VERSION_LQH || code == ERR_NO_SUCH_TABLE;
}

static const char *why_it_ends(const ndb_error_t *error)
{
    if (import_is_of_table(error->code))
        return "the table is not the one any more that it was when the import began";
    return error->status == NDB_STATUS_UNKNOWN ? "may be in the table or not"
                                               : "was refused again and again";
}

/* What becomes of a row whose insert has failed. */
static void handle_error(struct slot *slot, const ndb_error_t *error)
{
    struct load *load = slot->load;
    bool unknown = error->status == NDB_STATUS_UNKNOWN;
    bool temporary = error->status == NDB_STATUS_TEMPORARY;
    bool once_more = temporary || (unknown && !load->settings->missing_ai);

    if (load->commits.lost && import_can_repeat(load)) {
        give_back(slot); /* It will be read again. */
    } else if (once_more && slot->tries < load->settings->temporary_max) {
        slot->doubt |= unknown;
        retry_later(slot, error->code);
    } else if (unknown || import_is_of_table(error->code) ||
               (temporary && import_can_repeat(load))) {
        if (!load->failed) {
            (void)fprintf(stderr, "%s: row %" PRIu64 ": %s\n", load->path, slot->number,
                          why_it_ends(error));
            tool_print_error(error);
        }
        load->other_table |= import_is_of_table(error->code);
        import_fail(load);
        if (import_can_repeat(load))
            give_back(slot); /* Nothing is wrong with the row: --resume tries it again. */
        else
            reject_slot(slot, error);
    } else {
        reject_slot(slot, error);
    }
}

/* ---- Rows that a former run, or try, may have sent ---- */

/* Are the values that the slot would insert those of the row that is there? */
static bool same_row(const struct load *load, const struct slot *slot,
                     const struct ndb_operation *read)
{
    for (uint32_t i = 0; i < load->column_count; i++) {
        uint32_t column = load->columns[i];
        const void *mine, *theirs;
        uint32_t mine_size, theirs_size;
        if (column == SKIPPED) continue;
        if (ndb_row_get(load->record, slot->row, column, &mine, &mine_size) != 0 ||
            ndb_operation_value(read, column, &theirs, &theirs_size) != 0)
            return false;
        if ((mine == NULL) != (theirs == NULL)) return false;
        if (mine != NULL && (mine_size != theirs_size || memcmp(mine, theirs, mine_size) != 0))
            return false;
    }
    return true;
}

static void accept_row(struct slot *slot, const struct ndb_transaction *transaction)
{
    struct load *load = slot->load;

    import_committed(load, ndb_transaction_epoch(transaction));
    load->totals.rows++;
    number_seen_row(&load->seen, load->record, slot->row);
    load->state.answered.greatest = load->seen.greatest;
    import_state_done(&load->state, slot->number, IMPORT_INSERTED);
    give_back(slot);
}

static void written_again(int result, struct ndb_transaction *transaction, void *context)
{
    struct slot *slot = context;

    if (result == 0)
        accept_row(slot, transaction);
    else
        handle_error(slot, ndb_transaction_error(transaction));
    ndb_transaction_close(transaction);
}

/*
 * Nobody knows the epoch of a row that is there already, which may be in memory only. Written once
 * more, with the same values and under the lock with which it was read, it has one.
 */
static void compared(int result, struct ndb_transaction *transaction, void *context)
{
    struct slot *slot = context;
    struct load *load = slot->load;
    ndb_error_t exists;

    ndb_error_lookup(ERR_ROW_EXISTS, &exists);
    if (result != 0) {
        handle_error(slot, ndb_transaction_error(transaction));
    } else if (ndb_operation_error(slot->read)->code != 0) {
        retry_later(slot, ndb_operation_error(slot->read)->code); /* It is gone again. */
    } else if (!same_row(load, slot, slot->read)) {
        reject_slot(slot, &exists);
    } else if (ndb_write(transaction, load->record, slot->row, NULL) != NULL &&
               ndb_execute_async(transaction, NDB_COMMIT, 0, written_again, slot) == 0) {
        return;
    } else {
        handle_error(slot, ndb_transaction_error(transaction));
    }
    ndb_transaction_close(transaction);
}

/* Reads the row whose key is there already. False: it could not be asked for. */
static bool compare(struct slot *slot)
{
    struct load *load = slot->load;
    struct ndb_transaction *transaction = ndb_transaction_start(load->settings->tool.ndb);
    struct ndb_column_info column;

    if (transaction == NULL) return false;
    slot->read = ndb_operation_define(transaction, load->table, NDB_READ,
                                      &(struct ndb_operation_options){.lock = NDB_LOCK_EXCLUSIVE});
    bool good = slot->read != NULL;
    for (uint32_t i = 0; good && i < load->column_count; i++) {
        const void *value;
        uint32_t size;
        if (load->columns[i] == SKIPPED) continue;
        good =
            ndb_table_column(load->table, load->columns[i], &column) == 0 &&
            ndb_row_get(load->record, slot->row, column.id, &value, &size) == 0 &&
            (!column.primary_key || ndb_operation_set(slot->read, column.id, value, size) == 0) &&
            ndb_operation_get(slot->read, column.id) == 0;
    }
    if (good && ndb_execute_async(transaction, NDB_NO_COMMIT, 0, compared, slot) == 0) return true;
    ndb_transaction_close(transaction);
    return false;
}

static void inserted(int result, struct ndb_transaction *transaction, void *context)
{
    struct slot *slot = context;
    struct load *load = slot->load;

    if (load->settings->stats)
        import_series_add(&load->row_us, (double)(now_ns() - slot->sent_ns) / 1000.0);
    if (result == 0) {
        accept_row(slot, transaction);
    } else if (ndb_transaction_error(transaction)->code != ERR_ROW_EXISTS ||
               !(slot->doubt || slot->number <= load->state.doubt) || !compare(slot)) {
        handle_error(slot, ndb_transaction_error(transaction));
    }
    ndb_transaction_close(transaction);
}

void import_send(struct slot *slot)
{
    struct load *load = slot->load;
    ndb_t *ndb = load->settings->tool.ndb;
    struct ndb_transaction *transaction = ndb_transaction_start(ndb);

    if (load->settings->stats) slot->sent_ns = now_ns();
    if (transaction == NULL) {
        handle_error(slot, ndb_error(ndb));
        return;
    }
    if (ndb_insert(transaction, load->record, slot->row, NULL) == NULL ||
        ndb_execute_async(transaction, NDB_COMMIT, 0, inserted, slot) != 0) {
        handle_error(slot, ndb_transaction_error(transaction));
        ndb_transaction_close(transaction);
    }
}

void import_send_due(struct load *load)
{
    struct slot *slot = load->retry;
    uint64_t now = slot == NULL ? 0 : import_now_ms();

    load->retry = NULL;
    while (slot != NULL) {
        struct slot *next = slot->next;
        if (slot->due_ms <= now) {
            import_send(slot);
        } else {
            slot->next = load->retry;
            load->retry = slot;
        }
        slot = next;
    }
}

void import_drop_retries(struct load *load)
{
    while (load->retry != NULL) {
        struct slot *slot = load->retry;
        load->retry = slot->next;
        if (import_can_repeat(load)) {
            give_back(slot);
            continue;
        }
        ndb_error_t error;
        ndb_error_lookup(slot->code, &error);
        reject_slot(slot, &error);
    }
}
