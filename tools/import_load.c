/* import_load.c -- loads one file: reads its rows and sends them, many at a time. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "service/wait_told.h"
#include "tools/import_load.h"

#define POLL_MS       100u
#define ROWS_PER_LOOK 256u /* Rows between two looks at the clock. */

uint64_t import_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void import_fail(struct load *load)
{
    bool ends = load->stop && !load->at_end; /* By too many rejected rows. */

    /* A signal that has come before is the reason, whatever else it has brought about. */
    if (!load->failed && !ends) load->interrupted = import_interrupted() != 0;
    load->stop = true;
    load->failed = true;
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

    /* Some editors begin a file with it, and it is seen nowhere. */
    bool mark = load->number == 1 && where == 0 && load->csv.raw_size >= 3 &&
                memcmp(raw, "\xef\xbb\xbf", 3) == 0;

    ndb_error_lookup(code, &error);
    (void)ndb_table_column(load->table, load->columns[where], &column);
    (void)snprintf(message, sizeof(message), "field %u, column %s: %s%s", where + 1, column.name,
                   error.text, mark ? " (the file begins with a byte order mark: remove it)" : "");
    import_reject(load, load->number, code, message, raw, (uint32_t)load->csv.raw_size);
}

/* This row ends the load. A file is read again behind the last row that is done; who goes on with a
 * pipe has no such place, and finds the row in the reject file. */
static void fail_with_row(struct load *load, int32_t code, const char *text, const char *raw)
{
    import_fail(load);
    if (load->state.ends == NULL)
        import_reject(load, load->number, code, text, raw, (uint32_t)load->csv.raw_size);
}

/* A number of the table, where the file has none. Waiting for it runs what waits for answers, so no
 * slot is taken yet. */
static bool take_number(struct load *load, const char *raw, uint64_t *number)
{
    ndb_t *ndb = load->settings->tool.ndb;

    if (load->number_column == SKIPPED) return true;
    if (ndb_auto_increment(ndb, load->table, &load->settings->numbers, number, 0) == 0) return true;
    const ndb_error_t *error = ndb_error(ndb);
    (void)fprintf(stderr, "%s: a number for row %" PRIu64 ": ", load->path, load->number);
    tool_print_error(error);
    load->other_table |= import_is_of_table(error->code);
    fail_with_row(load, error->code, error->text, raw);
    return false;
}

static void set_number(const struct load *load, uint8_t *row, uint64_t number)
{
    struct ndb_column_info column;

    if (load->number_column == SKIPPED) return;
    (void)ndb_table_column(load->table, load->number_column, &column);
    /* It fits: ndb_auto_increment() gives ERR_VALUE_OUT_OF_RANGE otherwise. */
    (void)ndb_row_set(load->record, row, column.id, &number, column.size);
}

static void take_row(struct load *load, const char *raw)
{
    uint64_t number = 0;
    char message[100];
    uint32_t where = 0;
    const int32_t malformed = 4313; /* The number of a value that cannot be read. */
    const int32_t no_memory = 4000; /* The number of a client without memory. */

    if (load->csv.problem != NULL) {
        import_reject(load, load->number, malformed, load->csv.problem, raw,
                      (uint32_t)load->csv.raw_size);
        return;
    }
    if (load->csv.count != load->column_count) {
        bool commas = load->csv.count == 1 && load->format.field_end[0] == '\t' &&
                      memchr(raw, ',', load->csv.raw_size) != NULL;
        (void)snprintf(message, sizeof(message), "%u fields instead of %u%s", load->csv.count,
                       load->column_count, commas ? " (is it CSV? --input-type=csv)" : "");
        import_reject(load, load->number, malformed, message, raw, (uint32_t)load->csv.raw_size);
        return;
    }
    if (!take_number(load, raw, &number)) return;
    struct slot *slot = load->free;
    set_number(load, slot->row, number);
    int code = convert(load, slot->row, &where);
    if (code != 0) {
        reject_value(load, raw, where, code);
        return;
    }
    if (!import_slot_keep(slot, raw, load->csv.raw_size)) {
        (void)fprintf(stderr, "%s: out of memory\n", load->path);
        fail_with_row(load, no_memory, "out of memory", raw);
        return;
    }
    load->free = slot->next;
    slot->number = load->number;
    slot->tries = 0;
    slot->doubt = false;
    import_send(slot);
}

/* No more rows are sent then; those on their way are answered, so that it is known what is done. */
static void look_for_interrupt(struct load *load)
{
    if (import_interrupted() != 0) import_fail(load);
}

/* How long nothing else is to be done but to wait for the next row of a pipe; -1: for ever. Only
 * answers that are taken bring a row on that was sent, or is to be sent again, or is refused. */
static int may_wait_ms(const struct load *load)
{
    if (load->retry != NULL || load->refused != NULL) return 0;
    if (ndb_pending(load->settings->tool.ndb) > 0) return 0;
    uint64_t now = import_now_ms();
    int wait = import_asks_in_ms(load, now);
    if (!load->bar && load->settings->monitor_s == 0) return wait;
    int progress = now < load->progress_ms ? (int)(load->progress_ms - now) : 0;
    return wait >= 0 && wait < progress ? wait : progress;
}

/* Reads and sends rows while there are slots, at most some before the clock is looked at. True: a
 * pipe has no row yet. */
static bool read_rows(struct load *load)
{
    const char *raw = NULL;
    const char *problem = NULL;

    for (uint32_t i = 0;
         i < ROWS_PER_LOOK && load->free != NULL && !load->stop && !load->commits.lost; i++) {
        if (load->number - load->settings->ignore_lines == load->settings->rows_max &&
            load->number >= load->settings->ignore_lines) {
            load->stop = true;
            load->at_end = true;
            return false;
        }
        if (!import_state_may_send(&load->state, load->number)) return false;
        int got = import_input_row(&load->input, &load->format, may_wait_ms(load), &load->csv, &raw,
                                   &problem);
        if (got == IMPORT_NO_ROW_YET) return true;
        if (got < 0) {
            look_for_interrupt(load);
            if (!load->interrupted)
                (void)fprintf(stderr, "%s: after row %" PRIu64 ": %s\n", load->path, load->number,
                              problem);
            import_fail(load);
            return false;
        }
        if (got == 0) {
            load->stop = true;
            load->at_end = true;
            return false;
        }
        load->number++;
        import_state_row(&load->state, load->number, import_input_position(&load->input));
        if (load->number > load->settings->ignore_lines)
            take_row(load, raw);
        else
            import_state_done(&load->state, load->number, IMPORT_IGNORED);
    }
    return false;
}

/* ---- One file ---- */

/* Until all input is read, and every row that was sent is answered and on disk. */
static void run(struct load *load)
{
    ndb_t *ndb = load->settings->tool.ndb;

    for (;;) {
        look_for_interrupt(load);
        if (load->failed || load->commits.lost) import_drop_retries(load);
        import_send_due(load);
        bool reads = !load->stop && !load->commits.lost;
        bool later = reads && read_rows(load);
        uint32_t pending = ndb_pending(ndb);
        if (pending == 0 && load->retry == NULL && load->refused == NULL) {
            if (load->commits.lost && !load->failed) {
                import_go_back(load);
                continue;
            }
            if (load->stop && import_settle(load)) break;
        }
        /* With room for more rows there is no reason to wait. */
        bool wait = !reads || later || load->free == NULL ||
                    !import_state_may_send(&load->state, load->number);
        if (wait && pending == 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000L}, NULL);
        } else if (ndb_poll(ndb, wait ? POLL_MS : 0, wait ? 1 : 0) < 0) {
            tool_print_error(ndb_error(ndb));
            import_fail(load);
            load->cut_off = pending > 0 || load->retry != NULL;
            break;
        }
        import_reject_refused(load);
        import_keep_state(load);
        if (load->bar || load->settings->monitor_s > 0) import_tell_progress(load, false);
        import_tell_stall(load);
    }
    import_reject_refused(load);
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
    if (load->bar) import_tell_progress(load, true);
    load->bar = false; /* What is told now stands below it. */
    ndb_error_t error;
    if (number_seen_raise(&load->seen, settings->tool.ndb, load->table, &error) != 1) {
        number_seen_print(&load->seen, &error);
        load->failed = true;
    }
    import_end_state(load);
    load->row_us.name = IMPORT_SERIES_ROW;
    load->rows_per_second.name = IMPORT_SERIES_RATE;
    series[0] = load->row_us;
    series[1] = load->rows_per_second;
    if (settings->stats &&
        !import_series_write(settings->state_dir, state_name, load->state.run, series, 2))
        load->failed = true;
}

/* A reader of rejected rows may be slow, or stall: answers that nobody takes meanwhile are too late in
 * the end, and their rows in doubt. */
static void take_answers(void *context)
{
    struct load *load = context;
    uint64_t now = import_now_ms();

    if (now - load->taken_ms < POLL_MS) return;
    load->taken_ms = now;
    (void)ndb_poll(load->settings->tool.ndb, 0, 0);
}

int import_load(struct import_settings *settings, const char *path, const char *table_name,
                const char *state_name, const char *rejects_path, struct import_totals *totals)
{
    struct load *load = calloc(1, sizeof(*load));

    *totals = (struct import_totals){0};
    if (load == NULL) {
        (void)fprintf(stderr, "%s: out of memory\n", path);
        return TOOL_FAILED;
    }
    *load =
        (struct load){.settings = settings,
                      .path = path,
                      .rejects = {.path = rejects_path, .meanwhile = take_answers, .context = load},
                      .format = settings->format,
                      .state.lock = -1,
                      .commits.life = ndb_connection_lives(settings->tool.connection),
                      .start_ms = import_now_ms()};
    load->bar = isatty(STDERR_FILENO) == 1;
    load->progress_ms = load->start_ms + (load->bar ? 0 : settings->monitor_s * 1000u);
    if ((settings->stats && !import_series_begin(settings->state_dir, state_name)) ||
        !import_prepare(load, table_name) || !import_begin_state(load, table_name, state_name))
        load->failed = true;
    else
        load->totals.began = true;
    if (load->totals.began && load->state.complete) /* By a former run. */
        load->totals.complete = load->totals.on_disk = true;
    else if (load->totals.began)
        run_and_tell(load, state_name);
    load->totals.rejects_opened = load->rejects.file != NULL || load->rejects_lost;
    /* What could not be written is tried once more, and has been told. */
    if (!import_reject_file_end(&load->rejects) && !load->rejects_lost) import_rejects_failed(load);
    load->totals.rejects_lost = load->rejects_lost;
    load->totals.interrupted = load->interrupted;
    if (import_too_many_rejected(load) && load->totals.rejected == 0)
        (void)fprintf(stderr,
                      "%s: %" PRIu64 " rows were rejected before, %" PRIu64
                      " are permitted (--rejects); they are in %s\n",
                      path, load->totals.rejected_before, settings->rejects_max, rejects_path);
    load->totals.bytes = load->input.bytes_read - load->first_byte;
    load->totals.seconds = (double)(import_now_ms() - load->start_ms) / 1000.0;
    if (load->commits.memory || load->state.memory) load->totals.on_disk = false;
    if (load->totals.began) load->totals.state = import_state_kept(&load->state);
    *totals = load->totals;
    int code = load->failed || import_too_many_rejected(load) ? TOOL_FAILED : TOOL_OK;
    release(load);
    free(load);
    return code;
}
