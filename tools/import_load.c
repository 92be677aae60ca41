/* import_load.c -- loads one file: rows become asynchronous inserts, many at a time. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each row is a transaction of its own, so that a refused row takes no other with it and the reject
 * file can name it. A row waits in a slot with its stored values and its text until its insert is
 * answered: done, to be tried again (temporary errors, and those after which it may be there or
 * not), or rejected. When commits are lost with the cluster, all rows that are not on disk are sent
 * again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/wait_told.h"
#include "tools/import_load.h"

#define POLL_MS       100u
#define RETRY_MS_MAX  1000u
#define PROGRESS_MS   200u
#define STALL_MS      1000u /* Without a row; told a second later. */
#define ROWS_PER_LOOK 256u  /* Between two looks at the clock. */
#define ROW_EXISTS    630
#define BAR_WIDTH     30

uint64_t import_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Rejected rows ---- */

static void write_escaped(FILE *out, const char *text, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        switch (text[i]) {
        case '\t':
            (void)fputs("\\t", out);
            break;
        case '\n':
            (void)fputs("\\n", out);
            break;
        case '\r':
            (void)fputs("\\r", out);
            break;
        case '\\':
            (void)fputs("\\\\", out);
            break;
        default:
            (void)putc(text[i], out);
            break;
        }
    }
}

void import_fail(struct load *load)
{
    load->stop = true;
    load->failed = true;
}

void import_rejects_failed(struct load *load)
{
    (void)fprintf(stderr,
                  "%s%s: %s. Rejected rows cannot be kept; what is not in this file counts "
                  "as not done\n",
                  load->bar ? "\n" : "", load->rejects_path, strerror(errno));
    load->rejects_lost = true;
    import_fail(load);
}

static bool too_many_rejected(const struct load *load)
{
    return load->totals.rejected_before + load->totals.rejected > load->settings->rejects_max;
}

/* One row into the reject file: number, error, message, text; TAB separated. */
static void reject(struct load *load, uint64_t number, int32_t code, const char *message,
                   const char *raw, uint32_t raw_size)
{
    const struct import_settings *settings = load->settings;

    if (load->failed) return; /* Not done: whoever goes on meets it again. */
    if (load->rejects == NULL) {
        (void)fprintf(stderr, "%s%s: row %" PRIu64 " rejected: %d: %s\n", load->bar ? "\n" : "",
                      load->path, number, code, message);
        bool more = load->state.run > 1 || load->rejects_begun;
        load->rejects = fopen(load->rejects_path, more ? "a" : "w");
        load->rejects_begun = true;
        if (load->rejects == NULL) {
            import_rejects_failed(load);
            return;
        }
    }
    (void)fprintf(load->rejects, "%" PRIu64 "\t%d\t", number, code);
    write_escaped(load->rejects, message, (uint32_t)strlen(message));
    (void)putc('\t', load->rejects);
    write_escaped(load->rejects, raw, raw_size);
    (void)putc('\n', load->rejects);
    if (ferror(load->rejects) != 0) {
        import_rejects_failed(load);
        return;
    }
    load->totals.rejected++;
    import_state_done(&load->state, number, IMPORT_REJECTED);
    if (!too_many_rejected(load) || load->stop) return;
    if (settings->rejects_max > 0)
        (void)fprintf(stderr, "%s: more than %" PRIu64 " rows rejected\n", load->path,
                      settings->rejects_max);
    load->stop = true;
}

/* ---- Slots ---- */

static void give_back(struct slot *slot)
{
    slot->next = slot->load->free;
    slot->load->free = slot;
}

static bool keep_raw(struct slot *slot, const char *raw, size_t size)
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

static void reject_slot(struct slot *slot, const ndb_error_t *error)
{
    char message[600];
    bool detail = error->detail != NULL && error->detail[0] != '\0';

    (void)snprintf(message, sizeof(message), "%s%s%s", error->text, detail ? ": " : "",
                   detail ? error->detail : "");
    reject(slot->load, slot->number, error->code, message, slot->raw, slot->raw_size);
    give_back(slot);
}

static void retry_later(struct slot *slot)
{
    struct load *load = slot->load;
    uint64_t delay_ms = (uint64_t)load->settings->temporary_delay_ms * ++slot->tries;

    load->totals.retries++;
    slot->due_ms = import_now_ms() + (delay_ms < RETRY_MS_MAX ? delay_ms : RETRY_MS_MAX);
    slot->next = load->retry;
    load->retry = slot;
}

bool import_can_repeat(const struct load *load)
{
    return load->state.ends != NULL && !load->settings->missing_ai;
}

/* What becomes of a row whose insert has failed. */
static void handle_error(struct slot *slot, const ndb_error_t *error)
{
    struct load *load = slot->load;
    bool unknown = error->status == NDB_STATUS_UNKNOWN;

    if (load->commits.lost) {
        give_back(slot); /* It will be read again. */
    } else if ((error->status == NDB_STATUS_TEMPORARY ||
                (unknown && !load->settings->missing_ai)) &&
               slot->tries < load->settings->temporary_max) {
        slot->doubt |= unknown;
        retry_later(slot);
    } else if (unknown || error->status == NDB_STATUS_TEMPORARY) {
        /* Nothing is wrong with the row: --resume tries it again. */
        if (!load->failed) {
            (void)fprintf(stderr, "%s: row %" PRIu64 ": %s\n", load->path, slot->number,
                          unknown ? "may be in the table or not" : "was refused again and again");
            tool_print_error(error);
        }
        import_fail(load);
        give_back(slot);
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

    ndb_error_lookup(ROW_EXISTS, &exists);
    if (result != 0) {
        handle_error(slot, ndb_transaction_error(transaction));
    } else if (ndb_operation_error(slot->read)->code != 0) {
        retry_later(slot); /* It is gone again. */
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
    } else if (ndb_transaction_error(transaction)->code != ROW_EXISTS ||
               !(slot->doubt || slot->number <= load->state.doubt) || !compare(slot)) {
        handle_error(slot, ndb_transaction_error(transaction));
    }
    ndb_transaction_close(transaction);
}

static void submit(struct slot *slot)
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

static void submit_due(struct load *load)
{
    struct slot *slot = load->retry;
    uint64_t now = slot == NULL ? 0 : import_now_ms();

    load->retry = NULL;
    while (slot != NULL) {
        struct slot *next = slot->next;
        if (slot->due_ms <= now) {
            submit(slot);
        } else {
            slot->next = load->retry;
            load->retry = slot;
        }
        slot = next;
    }
}

/* ---- Rows of the file ---- */

static bool is_null(const struct load *load, const struct csv_field *field)
{
    const char *null_text = load->settings->null_text;

    if (field->null) return true;
    return null_text != NULL && !field->quoted && strlen(null_text) == field->size &&
           memcmp(null_text, field->text, field->size) == 0;
}

/* Fields to stored values. 0, or the error's number with the field's index in *where. */
static int convert(const struct load *load, uint8_t *row, uint32_t *where)
{
    for (uint32_t i = 0; i < load->column_count; i++) {
        const struct csv_field *field = &load->csv.fields[i];
        uint32_t column = load->columns[i];
        if (column == SKIPPED) continue;
        int code = is_null(load, field)
                       ? ndb_row_set(load->record, row, column, NULL, 0)
                       : ndb_row_parse(load->record, row, column, field->text, field->size);
        if (code != 0) {
            *where = i;
            return code;
        }
    }
    return 0;
}

static void reject_value(struct load *load, const char *raw, uint32_t where, int code)
{
    struct ndb_column_info column;
    ndb_error_t error;
    char message[400];

    ndb_error_lookup(code, &error);
    (void)ndb_table_column(load->table, load->columns[where], &column);
    (void)snprintf(message, sizeof(message), "field %u, column %s: %s", where + 1, column.name,
                   error.text);
    reject(load, load->number, code, message, raw, (uint32_t)load->csv.raw_size);
}

/* A number of the table, where the file has none. Waiting for it runs what waits for answers, so no
 * slot is taken yet. */
static bool take_number(struct load *load, uint64_t *number)
{
    ndb_t *ndb = load->settings->tool.ndb;

    if (load->number_column == SKIPPED) return true;
    if (ndb_auto_increment(ndb, load->table, &load->settings->numbers, number, 0) == 0) return true;
    (void)fprintf(stderr, "%s: a number for row %" PRIu64 ": ", load->path, load->number);
    tool_print_error(ndb_error(ndb));
    import_fail(load);
    return false;
}

static void set_number(const struct load *load, uint8_t *row, uint64_t number)
{
    struct ndb_column_info column;

    if (load->number_column == SKIPPED) return;
    (void)ndb_table_column(load->table, load->number_column, &column);
    (void)ndb_row_set(load->record, row, column.id, &number, column.size); /* It fits: 4314. */
}

static void take_row(struct load *load, const char *raw)
{
    uint64_t number = 0;
    char message[100];
    uint32_t where = 0;
    const int32_t malformed = 4313; /* The number of a value that cannot be read. */

    if (load->csv.problem != NULL) {
        reject(load, load->number, malformed, load->csv.problem, raw, (uint32_t)load->csv.raw_size);
        return;
    }
    if (load->csv.count != load->column_count) {
        (void)snprintf(message, sizeof(message), "%u fields instead of %u", load->csv.count,
                       load->column_count);
        reject(load, load->number, malformed, message, raw, (uint32_t)load->csv.raw_size);
        return;
    }
    if (!take_number(load, &number)) return;
    struct slot *slot = load->free;
    set_number(load, slot->row, number);
    int code = convert(load, slot->row, &where);
    if (code != 0) {
        reject_value(load, raw, where, code);
        return;
    }
    if (!keep_raw(slot, raw, load->csv.raw_size)) {
        (void)fprintf(stderr, "%s: out of memory\n", load->path);
        import_fail(load);
        return;
    }
    load->free = slot->next;
    slot->number = load->number;
    slot->tries = 0;
    slot->doubt = false;
    submit(slot);
}

/* Reads and sends rows while there are slots, at most some before the clock is looked at. */
static void read_rows(struct load *load)
{
    const char *raw = NULL;
    const char *problem = NULL;

    for (uint32_t i = 0; i < ROWS_PER_LOOK && load->free != NULL && !load->stop; i++) {
        if (load->number - load->settings->ignore_lines == load->settings->rows_max &&
            load->number >= load->settings->ignore_lines) {
            load->stop = true;
            load->at_end = true;
            return;
        }
        if (!import_state_may_send(&load->state, load->number)) return;
        int got = import_input_row(&load->input, &load->format, &load->csv, &raw, &problem);
        if (got < 0) {
            (void)fprintf(stderr, "%s: after row %" PRIu64 ": %s\n", load->path, load->number,
                          problem);
            import_fail(load);
            return;
        }
        if (got == 0) {
            load->stop = true;
            load->at_end = true;
            return;
        }
        load->number++;
        import_state_row(&load->state, load->number, import_input_position(&load->input));
        if (load->number > load->settings->ignore_lines)
            take_row(load, raw);
        else
            import_state_done(&load->state, load->number, IMPORT_IGNORED);
    }
}

/* ---- Progress ---- */

/* "3% , 12 s left" of a file whose size is known, into `text`; returns the part that is read. */
static double estimate(const struct load *load, double seconds, char *text, size_t size)
{
    double all = (double)load->input.bytes_total;
    double done = (double)import_input_position(&load->input);
    double now = done - (double)load->first_byte;

    text[0] = '\0';
    if (all <= 0) return 0;
    if (now > 0 && seconds > 0.5)
        (void)snprintf(text, size, ", %.0f%%, %.0f s left", done / all * 100,
                       (all - done) / now * seconds);
    else
        (void)snprintf(text, size, ", %.0f%%", done / all * 100);
    return done / all;
}

static void print_progress(struct load *load, bool last)
{
    uint64_t now = import_now_ms();
    double seconds = (double)(now - load->start_ms) / 1000.0;
    double speed = seconds > 0 ? (double)load->totals.rows / seconds : 0;
    char left[80];

    if (!last && now < load->progress_ms) return;
    double part = estimate(load, seconds, left, sizeof(left));
    if (load->bar && load->input.bytes_total > 0) {
        int filled = (int)(part * BAR_WIDTH + 0.5);
        (void)fprintf(stderr, "\r[%.*s%*s] %" PRIu64 " rows, %.0f rows/s%s  ", filled,
                      "##############################", BAR_WIDTH - filled, "", load->totals.rows,
                      speed, left);
    } else if (load->bar) {
        (void)fprintf(stderr, "\r%" PRIu64 " rows  %.0f rows/s ", load->totals.rows, speed);
    } else if (load->settings->monitor_s > 0 && !last) {
        (void)fprintf(stderr, "%s: %" PRIu64 " rows, %" PRIu64 " rejected, %.0f rows/s%s\n",
                      load->path, load->totals.rows, load->totals.rejected, speed, left);
    }
    if (last && load->bar) (void)fputc('\n', stderr);
    load->progress_ms = now + (load->bar ? PROGRESS_MS : load->settings->monitor_s * 1000u);
}

/* A cluster that holds rows back, because its logs are full, is not waited for in silence. */
static void tell_stall(struct load *load)
{
    uint64_t done = load->totals.rows + load->totals.rejected;
    uint64_t now = import_now_ms();
    uint32_t pending = ndb_pending(load->settings->tool.ndb);
    bool rows = load->retry != NULL || pending > (load->commits.waiting ? 1u : 0u);

    if (!rows || done != load->moved || load->moved_ms == 0) {
        load->moved = done;
        load->moved_ms = now;
        if (load->stalled) wait_told_for(load->wait, "%s", "");
        load->stalled = false;
    } else if (!load->stalled && now > load->moved_ms + STALL_MS) {
        load->stalled = true;
        wait_told_for(load->wait,
                      "the data nodes: they have taken no row for a while. Are their disks or redo "
                      "logs full (ndb_mgm: ALL REPORT CHECKPOINT, ALL REPORT REDO)?");
    }
}

/* ---- One file ---- */

/* Rows that wait for their next try stay away: the load has failed, or they are read again. */
static void drop_retries(struct load *load)
{
    while (load->retry != NULL) {
        struct slot *slot = load->retry;
        load->retry = slot->next;
        give_back(slot);
    }
}

/* Until all input is read, and every row that was sent is answered and on disk. */
static void run(struct load *load)
{
    ndb_t *ndb = load->settings->tool.ndb;

    for (;;) {
        if (load->failed || load->commits.lost) drop_retries(load);
        submit_due(load);
        bool reads = !load->stop && !load->commits.lost;
        if (reads) read_rows(load);
        uint32_t pending = ndb_pending(ndb);
        if (pending == 0 && load->retry == NULL) {
            if (load->commits.lost && !load->failed) {
                import_go_back(load);
                continue;
            }
            if (load->stop && import_settle(load)) break;
        }
        /* With room for more rows there is no reason to wait. */
        bool wait =
            !reads || load->free == NULL || !import_state_may_send(&load->state, load->number);
        if (wait && pending == 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000L}, NULL);
        } else if (ndb_poll(ndb, wait ? POLL_MS : 0, wait ? 1 : 0) < 0) {
            tool_print_error(ndb_error(ndb));
            import_fail(load);
            break;
        }
        import_keep_state(load);
        if (load->bar || load->settings->monitor_s > 0) print_progress(load, false);
        tell_stall(load);
    }
}

static void release(struct load *load)
{
    for (uint32_t i = 0; load->slots != NULL && i < load->settings->outstanding; i++)
        free(load->slots[i].raw);
    free(load->slots);
    free(load->rows);
    csv_row_free(&load->csv);
    import_state_free(&load->state);
    if (load->input.buffer != NULL) import_input_close(&load->input);
    ndb_record_release(load->record);
    ndb_table_release(load->table);
}

static void run_and_tell(struct load *load, const char *state_name)
{
    const struct import_settings *settings = load->settings;
    struct import_series series[2];

    load->start_ms = import_now_ms();
    if (!load->bar) load->wait = wait_told_begin(settings->tool.name);
    run(load);
    wait_told_end(load->wait);
    if (!number_seen_raise(&load->seen, settings->tool.ndb, load->table)) load->failed = true;
    import_end_state(load);
    if (load->bar) print_progress(load, true);
    load->row_us.name = "row-microseconds";
    load->rows_per_second.name = "rows-per-second";
    series[0] = load->row_us;
    series[1] = load->rows_per_second;
    if (settings->stats &&
        !import_series_write(settings->state_dir, state_name, load->state.run, series, 2))
        load->failed = true;
}

int import_load(struct import_settings *settings, const char *path, const char *table_name,
                const char *state_name, const char *rejects_path, struct import_totals *totals)
{
    struct load *load = calloc(1, sizeof(*load));

    *totals = (struct import_totals){0};
    if (load == NULL) return TOOL_FAILED;
    *load = (struct load){.settings = settings,
                          .path = path,
                          .rejects_path = rejects_path,
                          .format = settings->format,
                          .start_ms = import_now_ms()};
    load->bar = isatty(STDERR_FILENO) == 1;
    load->progress_ms = load->start_ms + (load->bar ? 0 : settings->monitor_s * 1000u);
    if (!import_prepare(load, table_name) || !import_begin_state(load, table_name, state_name))
        load->failed = true;
    else
        load->totals.began = true;
    if (load->totals.began && load->state.complete) /* By a former run. */
        load->totals.complete = load->totals.on_disk = true;
    else if (load->totals.began)
        run_and_tell(load, state_name);
    if (load->rejects != NULL && fclose(load->rejects) != 0) {
        (void)fprintf(stderr, "%s: %s\n", rejects_path, strerror(errno));
        load->failed = true;
    }
    if (too_many_rejected(load) && load->totals.rejected == 0)
        (void)fprintf(stderr,
                      "%s: %" PRIu64 " rows were rejected before, %" PRIu64
                      " are permitted (--rejects); they are in %s\n",
                      path, load->totals.rejected_before, settings->rejects_max, rejects_path);
    load->totals.bytes = load->input.bytes_read - load->first_byte;
    load->totals.seconds = (double)(import_now_ms() - load->start_ms) / 1000.0;
    if (load->commits.memory || load->state.memory) load->totals.on_disk = false;
    *totals = load->totals;
    int code = load->failed || too_many_rejected(load) ? TOOL_FAILED : TOOL_OK;
    release(load);
    free(load);
    return code;
}
