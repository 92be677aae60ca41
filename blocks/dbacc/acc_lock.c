/* acc_lock.c -- row locks: holders, waiters in arrival order, the ready list, timeouts. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Order in a row's queue: upgrades first, then by arrival; but an operation of a transaction that
 * already waits here stands right behind its sister, since it could only deadlock with whoever came
 * between. Nobody overtakes by being shared. Deadlocks end by timeout.
 *
 *          acc_lock                    row gone, timeout
 *   FREE ---------> WAITING --------------------------> GONE --(fetched)--> FREE
 *     |                | granted (ready)
 *     +--------------> HELD ----- row gone -----> ORPHAN --- acc_unlock ---> FREE
 */
#include "blocks/dbacc/acc_state.h"
#include "values/errors.h"

/* How far back in a queue the sisters of an operation are looked for: those of a batch arrive
 * together. */
#define SISTER_SEARCH 64u

static struct acc_lock *lock_or_null(const struct acc *acc, uint32_t ref)
{
    return ref == REF_NONE ? NULL : acc_lock_get(acc, ref);
}

static bool same_owner(const struct acc_lock *lock, uint32_t transid1, uint32_t transid2)
{
    return lock->transid1 == transid1 && lock->transid2 == transid2;
}

static uint32_t *word_of(const struct acc *acc, const struct acc_lock *lock)
{
    return tup_lock_word(acc_frag_get(acc, lock->frag)->rows, lock->row);
}

/* --- The two lists of the instance. --- */

static void list_append(struct acc *acc, struct lock_list *list, struct acc_lock *lock)
{
    lock->list_next = REF_NONE;
    lock->list_prev = list->last;
    if (list->last != REF_NONE)
        acc_lock_get(acc, list->last)->list_next = lock->record.ref;
    else
        list->first = lock->record.ref;
    list->last = lock->record.ref;
}

static void list_unlink(struct acc *acc, struct lock_list *list, const struct acc_lock *lock)
{
    if (lock->list_prev != REF_NONE)
        acc_lock_get(acc, lock->list_prev)->list_next = lock->list_next;
    else
        list->first = lock->list_next;
    if (lock->list_next != REF_NONE)
        acc_lock_get(acc, lock->list_next)->list_prev = lock->list_prev;
    else
        list->last = lock->list_prev;
}

static void ready_add(struct acc *acc, struct acc_lock *lock)
{
    lock->ready = 1;
    list_append(acc, &acc->ready, lock);
}

static void ready_remove(struct acc *acc, struct acc_lock *lock)
{
    lock->ready = 0;
    list_unlink(acc, &acc->ready, lock);
}

/* --- A row's queue; `head` is the row's first holder. --- */

static void queue_insert(struct acc *acc, struct acc_lock *head, struct acc_lock *lock,
                         struct acc_lock *after)
{
    uint32_t ref = lock->record.ref;
    uint32_t next = after != NULL ? after->next : head->wait_first;
    lock->next = next;
    lock->prev = after != NULL ? after->record.ref : REF_NONE;
    if (after != NULL)
        after->next = ref;
    else
        head->wait_first = ref;
    if (next != REF_NONE)
        acc_lock_get(acc, next)->prev = ref;
    else
        head->wait_last = ref;
    lock->state = LOCK_WAITING;
    list_append(acc, &acc->waiting, lock);
    acc->waiting_count++;
}

static void queue_remove(struct acc *acc, struct acc_lock *head, struct acc_lock *lock)
{
    if (lock->prev != REF_NONE)
        acc_lock_get(acc, lock->prev)->next = lock->next;
    else
        head->wait_first = lock->next;
    if (lock->next != REF_NONE)
        acc_lock_get(acc, lock->next)->prev = lock->prev;
    else
        head->wait_last = lock->prev;
    list_unlink(acc, &acc->waiting, lock);
    acc->waiting_count--;
}

/* The waiter behind whom a new one stands; NULL: it stands in front. */
static struct acc_lock *queue_place(const struct acc *acc, const struct acc_lock *head,
                                    const struct acc_lock_req *req, bool upgrade)
{
    if (upgrade) {
        jam();
        return NULL; /* Two upgrades block each other in any order. */
    }
    struct acc_lock *last = lock_or_null(acc, head->wait_last);
    struct acc_lock *at = last;
    for (uint32_t i = 0; i < SISTER_SEARCH && at != NULL; i++) {
        if (same_owner(at, req->transid1, req->transid2)) return at;
        at = lock_or_null(acc, at->prev);
    }
    return last;
}

/* --- Holders. --- */

static void holder_add(struct acc *acc, struct acc_lock *head, struct acc_lock *lock)
{
    lock->state = LOCK_HELD;
    lock->prev = head->record.ref;
    lock->next = head->next;
    if (head->next != REF_NONE) acc_lock_get(acc, head->next)->prev = lock->record.ref;
    head->next = lock->record.ref;
    head->holders++;
    head->exclusive += lock->mode == LOCK_EXCLUSIVE;
}

static void head_make(struct acc_lock *lock, uint32_t *word)
{
    lock->state = LOCK_HELD;
    lock->next = lock->prev = REF_NONE;
    lock->holders = 1;
    lock->exclusive = lock->mode == LOCK_EXCLUSIVE;
    *word = lock->record.ref;
}

/* Does anybody else hold a lock here? Ends at the first one found. */
static bool others_hold(const struct acc *acc, const struct acc_lock *head, uint32_t transid1,
                        uint32_t transid2)
{
    if (head->exclusive > 0)
        return !same_owner(head, transid1, transid2); /* All holders are one transaction. */
    for (const struct acc_lock *at = head; at != NULL; at = lock_or_null(acc, at->next)) {
        if (!same_owner(at, transid1, transid2)) return true;
    }
    return false;
}

static bool holds(const struct acc *acc, const struct acc_lock *head, uint32_t transid1,
                  uint32_t transid2)
{
    if (head->exclusive > 0) return same_owner(head, transid1, transid2);
    for (const struct acc_lock *at = head; at != NULL; at = lock_or_null(acc, at->next)) {
        if (same_owner(at, transid1, transid2)) return true;
    }
    return false;
}

/* May this request be granted beside the present holders? Waiters are not considered. */
static bool compatible(const struct acc *acc, const struct acc_lock *head, enum lock_mode mode,
                       uint32_t transid1, uint32_t transid2)
{
    if (mode == LOCK_SHARED && head->exclusive == 0) return true;
    return !others_hold(acc, head, transid1, transid2);
}

/* Makes holders of the waiters whose turn it is. */
static void queue_grant(struct acc *acc, struct acc_lock *head)
{
    while (head->wait_first != REF_NONE) {
        struct acc_lock *lock = acc_lock_get(acc, head->wait_first);
        if (!compatible(acc, head, lock->mode, lock->transid1, lock->transid2)) return;
        queue_remove(acc, head, lock);
        holder_add(acc, head, lock);
        ready_add(acc, lock);
    }
}

uint32_t acc_lock(struct acc *acc, struct acc_frag *frag, uint32_t row,
                  const struct acc_lock_req *req, uint32_t *lock_ref)
{
    uint32_t *word = tup_lock_word(frag->rows, row);
    struct acc_lock *head = lock_or_null(acc, *word);
    bool grant = true;
    bool upgrade = false;
    *lock_ref = REF_NONE;
    if (head != NULL) {
        jam();
        grant = compatible(acc, head, req->mode, req->transid1, req->transid2);
        if (grant && req->mode == LOCK_SHARED && head->wait_first != REF_NONE)
            grant = holds(acc, head, req->transid1, req->transid2); /* Nobody overtakes. */
        if (!grant && req->nowait) return ERR_NOWAIT_LOCK;
        upgrade = !grant && holds(acc, head, req->transid1, req->transid2);
    }
    struct acc_lock *lock = pool_seize(&acc->locks);
    if (lock == NULL) return ERR_LQH_OPERATIONS;
    lock->transid1 = req->transid1;
    lock->transid2 = req->transid2;
    lock->op = req->op;
    lock->frag = frag->record.ref;
    lock->row = row;
    lock->mode = (uint8_t)req->mode;
    *lock_ref = lock->record.ref;
    if (head == NULL) {
        head_make(lock, word);
        return 0;
    }
    if (grant) {
        jam();
        holder_add(acc, head, lock);
        return 0;
    }
    jam();
    lock->since_ms = req->now_ms;
    queue_insert(acc, head, lock, queue_place(acc, head, req, upgrade));
    return ACC_WAIT;
}

/* Takes a holder out; the next holder or waiter becomes the row's first holder. */
static void holder_remove(struct acc *acc, struct acc_lock *lock)
{
    uint32_t *word = word_of(acc, lock);
    struct acc_lock *head = *word == lock->record.ref ? lock : acc_lock_get(acc, *word);
    head->holders--;
    head->exclusive -= lock->mode == LOCK_EXCLUSIVE;
    struct acc_lock *next = lock_or_null(acc, lock->next);
    if (lock != head) {
        acc_lock_get(acc, lock->prev)->next = lock->next;
        if (next != NULL) next->prev = lock->prev;
    } else if (next != NULL) {
        jam();
        next->prev = REF_NONE;
        next->holders = head->holders;
        next->exclusive = head->exclusive;
        next->wait_first = head->wait_first;
        next->wait_last = head->wait_last;
        *word = next->record.ref;
        head = next;
    } else if (head->wait_first != REF_NONE) {
        jam();
        struct acc_lock *first = acc_lock_get(acc, head->wait_first);
        queue_remove(acc, head, first);
        first->wait_first = head->wait_first;
        first->wait_last = head->wait_last;
        head_make(first, word);
        ready_add(acc, first);
        head = first;
    } else {
        *word = REF_NONE;
        return;
    }
    queue_grant(acc, head);
}

/* Takes a waiter out; those behind it may have waited only for it. */
static void waiter_remove(struct acc *acc, struct acc_lock *lock)
{
    struct acc_lock *head = acc_lock_get(acc, *word_of(acc, lock));
    queue_remove(acc, head, lock);
    queue_grant(acc, head);
}

void acc_unlock(struct acc *acc, uint32_t ref)
{
    struct acc_lock *lock = acc_lock_get(acc, ref);
    if (lock->ready) ready_remove(acc, lock);
    if (lock->state == LOCK_HELD)
        holder_remove(acc, lock);
    else if (lock->state == LOCK_WAITING)
        waiter_remove(acc, lock);
    pool_release(&acc->locks, lock);
}

void acc_row_gone(struct acc *acc, struct acc_frag *frag, uint32_t row)
{
    uint32_t *word = tup_lock_word(frag->rows, row);
    struct acc_lock *head = lock_or_null(acc, *word);
    if (head == NULL) return;
    while (head->wait_first != REF_NONE) {
        jam();
        struct acc_lock *lock = acc_lock_get(acc, head->wait_first);
        queue_remove(acc, head, lock);
        lock->state = LOCK_GONE;
        ready_add(acc, lock);
    }
    for (struct acc_lock *lock = head; lock != NULL;) {
        struct acc_lock *next = lock_or_null(acc, lock->next);
        lock->next = lock->prev = REF_NONE;
        /* A grant that was not fetched yet would promise a row that is not there. */
        lock->state = lock->ready ? LOCK_GONE : LOCK_ORPHAN;
        lock = next;
    }
    *word = REF_NONE;
}

bool acc_ready_next(struct acc *acc, struct acc_ready *ready)
{
    struct acc_lock *lock = lock_or_null(acc, acc->ready.first);
    *ready = (struct acc_ready){.op = REF_NONE};
    if (lock == NULL) return false;
    ready_remove(acc, lock);
    ready->op = lock->op;
    if (lock->state == LOCK_GONE) {
        jam();
        ready->error = lock->error;
        pool_release(&acc->locks, lock);
        return true;
    }
    ndbrequire(lock->state == LOCK_HELD);
    ready->lock = lock->record.ref;
    return true;
}

bool acc_ready_empty(const struct acc *acc)
{
    return acc->ready.first == REF_NONE;
}

uint32_t acc_lock_tick(struct acc *acc, uint64_t now_ms, uint32_t max)
{
    uint32_t done = 0;
    while (done < max && acc->waiting.first != REF_NONE) {
        struct acc_lock *lock = acc_lock_get(acc, acc->waiting.first);
        if (now_ms < lock->since_ms + acc->deadlock_timeout_ms) break;
        jam();
        waiter_remove(acc, lock);
        lock->state = LOCK_GONE;
        lock->error = ERR_LOCK_TIMEOUT;
        ready_add(acc, lock);
        done++;
    }
    return done;
}

uint32_t acc_locks_in_use(const struct acc *acc)
{
    return acc->locks.in_use;
}

uint32_t acc_locks_waiting(const struct acc *acc)
{
    return acc->waiting_count;
}

void acc_prefetch_lock(const struct acc *acc, uint32_t lock)
{
    pool_prefetch(&acc->locks, lock);
}
