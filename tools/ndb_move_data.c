/* ndb_move_data.c -- moves the rows of one table into another one that may have other columns. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scan finds keys; a transaction for each batch locks and reads its rows, inserts them into the
 * target and deletes them from the source. So each row is in exactly one of the two tables at any
 * time, with what others have changed up to then, and a move that was interrupted is simply begun
 * again.
 * (move_passes.h: how often the source is scanned.)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/move_convert.h"
#include "tools/move_passes.h"
#include "tools/move_pauses.h"
#include "tools/number_seen.h"
#include "tools/tool_json.h"
#include "tools/tool_progress.h"
#include "values/errors.h"

#define BATCH_ROWS 16u /* Inserted and deleted: the least MaxDMLOperationsPerTransaction. */

#define NONE UINT32_MAX

struct settings {
    struct tool tool;
    const char *source, *target;
    bool exclude_missing, promote, lossy, drop_source;
    struct move_pauses pauses;
};

enum { KEY_TRIES = TOOL_KEY_OWN, KEY_DROP, KEY_EXCLUDE };

static const struct argp_option options[] = {
    {"exclude-missing-columns", KEY_EXCLUDE, NULL, 0,
     "leave out columns that the target does not have", 0},
    {"promote-attributes", 'A', NULL, 0,
     "columns of the target may be wider (INT to BIGINT, CHAR to VARCHAR)", 0},
    {"lossy-conversions", 'L', NULL, 0,
     "columns of the target may be narrower or of other sign; a value that would be another one "
     "there ends the move, nothing is cut or rounded",
     0},
    {"staging-tries", KEY_TRIES, "X[,Y[,Z]]", 0,
     "tries of a batch that meets temporary errors (0: no limit), and the shortest and longest "
     "pause between them in ms (0,1000,60000)",
     0},
    {"drop-source", KEY_DROP, NULL, 0, "drop the source table when all its rows have been moved",
     0},
    {"verbose", 'v', NULL, 0, "tell about columns and each try", 0},
    {0},
};

static error_t read_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;

    switch (key) {
    case KEY_EXCLUDE:
        settings->exclude_missing = true;
        return 0;
    case 'A':
        settings->promote = true;
        return 0;
    case 'L':
        settings->lossy = true;
        return 0;
    case KEY_TRIES:
        if (!move_pauses_parse(&settings->pauses, argument))
            argp_error(state, "--staging-tries must be like 10,1000,60000, not '%s'", argument);
        return 0;
    case KEY_DROP:
        settings->drop_source = true;
        return 0;
    case 'v':
        settings->pauses.verbose = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1) argp_error(state, "give a source and a target table");
        if (state->arg_num == 0)
            settings->source = argument;
        else
            settings->target = argument;
        return 0;
    case ARGP_KEY_END:
        if (settings->target == NULL) argp_error(state, "give a source and a target table");
        return 0;
    default:
        return tool_option(key, argument, state);
    }
}

/* One of the two tables. */
struct side {
    struct ndb_table *table;
    struct ndb_table_info info;
    struct ndb_column_info *columns;
    struct ndb_record *record; /* All columns. */
};

struct move {
    const struct settings *settings;
    ndb_t *ndb;
    struct side source, target;
    uint32_t *to;   /* The column of the target that each column of the source goes to, or NONE. */
    uint8_t *set;   /* Mask of the target's columns that get a value. */
    uint8_t *keys;  /* Mask of the source's key. */
    uint8_t *rows;  /* BATCH_ROWS of the source. */
    uint32_t count; /* Rows in the batch. */
    uint8_t *out_row; /* One row of the target. */
    uint8_t *value;
    struct move_room room; /* Its text is for a key's value, too. */
    uint32_t tries; /* Scans, waits for the disk, and raised numbers that met a temporary error. */
    struct number_seen seen; /* Numbers in rows of the target. */
    uint32_t lives;          /* ndb_connection_lives() when they were raised. */
    struct move_pauses pauses;
    struct move_passes passes;
};

static void out_of_memory(void)
{
    (void)fprintf(stderr, "ndb_move_data: out of memory\n");
}

static bool open_side(struct settings *settings, const char *name, struct side *side)
{
    side->table = tool_open_table(&settings->tool, name);
    if (side->table == NULL) return false;
    ndb_table_describe(side->table, &side->info);
    side->columns = calloc(side->info.columns, sizeof(*side->columns));
    side->record = ndb_record_create_default(settings->tool.ndb, side->table);
    if (side->columns == NULL || side->record == NULL) {
        out_of_memory();
        return false;
    }
    for (uint32_t i = 0; i < side->info.columns; i++)
        (void)ndb_table_column(side->table, i, &side->columns[i]);
    return true;
}

static void close_side(struct side *side)
{
    ndb_record_release(side->record);
    free(side->columns);
    ndb_table_release(side->table);
}

/* ---- Which column goes where ---- */

/* Finds the place of one column of the source; false: it has none, and the reason is printed. */
static bool match_column(struct move *move, uint32_t id)
{
    const struct settings *settings = move->settings;
    const struct ndb_column_info *from = &move->source.columns[id];
    int found = ndb_table_find_column(move->target.table, from->name);

    move->to[id] = NONE;
    if (found < 0 && settings->exclude_missing) return true;
    if (found < 0) {
        (void)fprintf(stderr, "Column %s is missing in %s (see --exclude-missing-columns)\n",
                      from->name, settings->target);
        return false;
    }
    const struct ndb_column_info *to = &move->target.columns[found];
    enum move_need need = move_need(from, to);
    const char *option = NULL;
    if (need == MOVE_PROMOTE && !settings->promote) option = "; needs --promote-attributes";
    if (need == MOVE_LOSSY && !settings->lossy) option = "; needs --lossy-conversions";
    if (need == MOVE_IMPOSSIBLE) option = ", which is no such conversion as there is";
    char from_type[200], to_type[200];
    (void)ndb_column_type_text(move->source.table, id, from_type, sizeof(from_type));
    (void)ndb_column_type_text(move->target.table, (uint32_t)found, to_type, sizeof(to_type));
    if (option != NULL || (settings->pauses.verbose && need != MOVE_SAME))
        (void)fprintf(stderr, "Column %s: %s to %s%s\n", from->name, from_type, to_type,
                      option == NULL ? "" : option);
    move->to[id] = (uint32_t)found;
    move->set[found / 8] |= (uint8_t)(1u << found % 8);
    return option == NULL;
}

static bool match_columns(struct move *move)
{
    bool good = true;

    for (uint32_t i = 0; i < move->source.info.columns; i++) {
        good = match_column(move, i) && good;
        if (move->source.columns[i].primary_key) move->keys[i / 8] |= (uint8_t)(1u << i % 8);
    }
    for (uint32_t i = 0; i < move->target.info.columns; i++) {
        const struct ndb_column_info *column = &move->target.columns[i];
        if (!column->primary_key || (move->set[i / 8] >> i % 8 & 1) != 0) continue;
        (void)fprintf(stderr, "Key column %s of %s is missing in %s\n", column->name,
                      move->settings->target, move->settings->source);
        good = false;
    }
    return good;
}

static uint32_t greater(uint32_t one, uint32_t other)
{
    return one > other ? one : other;
}

static bool make_room(struct move *move)
{
    uint32_t text = 1;
    uint32_t value = 1;

    for (uint32_t i = 0; i < move->source.info.columns; i++) {
        text = greater(text, ndb_value_print_size(move->source.table, i) + 1);
        value = greater(value, move->source.columns[i].size + 1);
    }
    for (uint32_t i = 0; i < move->target.info.columns; i++) {
        text = greater(text, ndb_value_print_size(move->target.table, i) + 1);
        value = greater(value, move->target.columns[i].size + 1);
    }
    move->to = calloc(move->source.info.columns, sizeof(*move->to));
    move->set = calloc(move->target.info.columns / 8 + 1, 1);
    move->keys = calloc(move->source.info.columns / 8 + 1, 1);
    move->rows = calloc(BATCH_ROWS, ndb_record_row_size(move->source.record));
    move->out_row = calloc(1, ndb_record_row_size(move->target.record));
    move->value = malloc(value);
    move->room = (struct move_room){.text = malloc(text), .text_size = text, .back = malloc(value)};
    return move->to != NULL && move->set != NULL && move->keys != NULL && move->rows != NULL &&
           move->out_row != NULL && move->value != NULL && move->room.text != NULL &&
           move->room.back != NULL;
}

static void free_room(struct move *move)
{
    free(move->to);
    free(move->set);
    free(move->keys);
    free(move->rows);
    free(move->out_row);
    free(move->value);
    free(move->room.text);
    free(move->room.back);
}

/* ---- Moving ---- */

static uint8_t *row_of(const struct move *move, uint32_t i)
{
    return move->rows + (size_t)i * ndb_record_row_size(move->source.record);
}

/* "source (1, "x"): " on standard error. */
static void print_row_name(const struct move *move, const uint8_t *row)
{
    const char *between = "";

    tool_progress_end();
    (void)fprintf(stderr, "%s (", move->settings->source);
    for (uint32_t i = 0; i < move->source.info.columns; i++) {
        const void *value;
        uint32_t size;
        if (!move->source.columns[i].primary_key ||
            ndb_row_get(move->source.record, row, i, &value, &size) != 0 ||
            ndb_value_print(move->source.table, i, value, size, NDB_PRINT_QUOTE, move->room.text,
                            move->room.text_size) < 0)
            continue;
        (void)fprintf(stderr, "%s%s", between, move->room.text);
        between = ", ";
    }
    (void)fprintf(stderr, "): ");
}

/* Puts one column of the source's row into move->out_row. 0, or the error's number. */
static int convert_column(struct move *move, const uint8_t *row, uint32_t id)
{
    const struct ndb_column_info *to = &move->target.columns[move->to[id]];
    const void *value;
    uint32_t size;
    int code = ndb_row_get(move->source.record, row, id, &value, &size);

    if (code == 0 && value != NULL) {
        code = move_value(move->source.table, &move->source.columns[id], move->target.table, to,
                          value, size, &move->room, move->value, &size);
        value = move->value;
    }
    return code != 0 ? code : ndb_row_set(move->target.record, move->out_row, to->id, value, size);
}

/* Fills move->out_row. False: a value does not fit, and that is printed. */
static bool convert_row(struct move *move, const uint8_t *row)
{
    for (uint32_t i = 0; i < move->source.info.columns; i++) {
        int code = move->to[i] == NONE ? 0 : convert_column(move, row, i);
        if (code == 0) continue;
        ndb_error_t error;
        ndb_error_lookup(code, &error);
        print_row_name(move, row);
        (void)fprintf(stderr, "column %s: ", move->target.columns[move->to[i]].name);
        tool_print_error(&error);
        return false;
    }
    return true;
}

/* The transaction has failed with *error. True: worth another try. */
static bool note_error(const struct move *move, struct ndb_transaction *transaction,
                       struct ndb_operation *const *operations, ndb_error_t *error)
{
    const struct ndb_operation *culprit = ndb_transaction_error_operation(transaction);

    *error = *ndb_transaction_error(transaction);
    error->detail = "";
    if (error->status == NDB_STATUS_TEMPORARY) return true;
    for (uint32_t i = 0; culprit != NULL && i < move->count; i++)
        if (operations[i] == culprit) print_row_name(move, row_of(move, i));
    tool_print_error(error);
    if (error->status == NDB_STATUS_UNKNOWN)
        (void)fprintf(stderr, "Run it again: it goes on with what is in %s\n",
                      move->settings->source);
    return false;
}

/* Locks and reads the rows of the batch. Those that are gone are left out of it. False with *error.
 */
static bool lock_rows(struct move *move, struct ndb_transaction *transaction, ndb_error_t *error)
{
    static const struct ndb_operation_options exclusive = {.lock = NDB_LOCK_EXCLUSIVE,
                                                           .flags = NDB_OP_IGNORE_ERROR};
    struct ndb_operation *reads[BATCH_ROWS];
    uint32_t row_size = ndb_record_row_size(move->source.record);
    uint32_t left = 0;

    for (uint32_t i = 0; i < move->count; i++) {
        uint8_t *row = row_of(move, i);
        reads[i] =
            ndb_read(transaction, move->source.record, row, move->source.record, row, &exclusive);
        if (reads[i] == NULL) break;
    }
    *error = *ndb_transaction_error(transaction);
    if (error->code != 0) return false;
    if (ndb_execute(transaction, NDB_NO_COMMIT, 0) != 0) {
        *error = *ndb_transaction_error(transaction);
        return false;
    }
    for (uint32_t i = 0; i < move->count; i++) {
        *error = *ndb_operation_error(reads[i]);
        if (error->code != 0 && error->code != ERR_ROW_NOT_FOUND)
            return false; /* Locked by others for too long; the batch stays as it is. */
    }
    for (uint32_t i = 0; i < move->count; i++) {
        if (ndb_operation_error(reads[i])->code == ERR_ROW_NOT_FOUND) continue;
        if (left != i) memcpy(row_of(move, left), row_of(move, i), row_size);
        left++;
    }
    move->count = left;
    *error = (ndb_error_t){0};
    return true;
}

/* number_seen_raise(), again also when a loss of all data nodes may have taken it back. */
static int raise_numbers_seen(struct move *move, ndb_error_t *error)
{
    uint32_t lives = ndb_connection_lives(move->settings->tool.connection);

    if (lives != move->lives) move->seen.raised = 0;
    move->lives = lives;
    int raised = number_seen_raise(&move->seen, move->ndb, move->target.table, error);
    if (raised < 0) number_seen_print(&move->seen, error);
    return raised;
}

enum outcome { MOVED, TRY_AGAIN, GIVE_UP };

/* One try of one transaction for the batch. */
static enum outcome move_batch(struct move *move, struct ndb_transaction *transaction,
                               ndb_error_t *error)
{
    const struct ndb_operation_options some = {.mask = move->set};
    struct ndb_operation *inserts[BATCH_ROWS] = {NULL};

    if (!lock_rows(move, transaction, error)) {
        error->detail = ""; /* Ends with the transaction. */
        if (error->status == NDB_STATUS_TEMPORARY) return TRY_AGAIN;
        tool_print_error(error);
        return GIVE_UP;
    }
    for (uint32_t i = 0; i < move->count; i++) {
        if (!convert_row(move, row_of(move, i))) return GIVE_UP;
        number_seen_row(&move->seen, move->target.record, move->out_row);
        inserts[i] = ndb_insert(transaction, move->target.record, move->out_row, &some);
        if (inserts[i] == NULL ||
            ndb_delete(transaction, move->source.record, row_of(move, i), NULL) == NULL) {
            tool_print_error(ndb_transaction_error(transaction));
            return GIVE_UP;
        }
    }
    /* Rows that others have inserted since the numbers were looked at. */
    int raised = raise_numbers_seen(move, error);
    if (raised != 1) return raised == 0 ? TRY_AGAIN : GIVE_UP;
    if (ndb_execute(transaction, NDB_COMMIT, 0) != 0)
        return note_error(move, transaction, inserts, error) ? TRY_AGAIN : GIVE_UP;
    move->passes.moved += move->count;
    tool_progress_tell("ndb_move_data", move->passes.moved, "rows moved");
    if (move->count > 0) move->passes.epoch = ndb_transaction_epoch(transaction);
    return MOVED;
}

/* Moves the batch, in as many tries as it takes. False: the reason is printed. */
static bool finish_batch(struct move *move)
{
    uint32_t tries = 0;

    while (move->count > 0) {
        struct ndb_transaction *transaction = ndb_transaction_start(move->ndb);
        ndb_error_t error = {0};
        enum outcome outcome = GIVE_UP;
        if (transaction == NULL)
            tool_print_error(ndb_error(move->ndb));
        else
            outcome = move_batch(move, transaction, &error);
        ndb_transaction_close(transaction);
        if (outcome == MOVED) {
            move->count = 0;
            move_pauses_end(&move->pauses);
        }
        if (outcome == GIVE_UP) return false;
        if (outcome == TRY_AGAIN && !move_pause(&move->pauses, &error, &tries)) return false;
    }
    return true;
}

static int move_pass(struct move_passes *passes, ndb_error_t *error)
{
    struct move *move = passes->context;
    struct ndb_scan_options keys = {.lock = NDB_COMMITTED_READ, .mask = move->keys};
    struct ndb_scan *scan = ndb_scan_start(move->ndb, move->source.record, &keys, 0);
    int more = scan == NULL ? -1 : 1;

    while (more == 1) {
        more = ndb_scan_next_copy(scan, row_of(move, move->count), 0);
        if (more == 1) move->count++;
        if ((more == 0 || move->count == BATCH_ROWS) && !finish_batch(move)) {
            ndb_scan_close(scan);
            return -1;
        }
    }
    if (more < 0) *error = scan == NULL ? *ndb_error(move->ndb) : *ndb_scan_error(scan);
    error->detail = "";
    ndb_scan_close(scan);
    move->count = 0;
    if (more == 0) move_pauses_end(&move->pauses);
    if (more == 0) return 1;
    if (error->status == NDB_STATUS_TEMPORARY) return 0;
    tool_print_error(error);
    return -1;
}

/* ---- Numbers ---- */

/* One scan of the column of the source that gives the target its numbers. 1: to the end; 0: a
 * temporary error in *error; -1: printed. */
static int look_at_numbers(struct move *move, uint32_t id, ndb_error_t *error)
{
    uint8_t *only = calloc(move->source.info.columns / 8 + 1, 1);
    struct ndb_scan_options column = {.lock = NDB_COMMITTED_READ, .mask = only};
    const void *row;
    int more = 1;

    if (only == NULL) {
        out_of_memory();
        return -1;
    }
    only[id / 8] |= (uint8_t)(1u << id % 8);
    struct ndb_scan *scan = ndb_scan_start(move->ndb, move->source.record, &column, 0);
    while (scan != NULL && (more = ndb_scan_next(scan, &row, 0)) == 1) {
        /* What does not fit ends the move when the row is moved. */
        if (convert_column(move, row, id) == 0)
            number_seen_row(&move->seen, move->target.record, move->out_row);
    }
    *error = scan == NULL ? *ndb_error(move->ndb) : *ndb_scan_error(scan);
    error->detail = "";
    ndb_scan_close(scan);
    free(only);
    if (scan != NULL && more == 0) return 1;
    if (error->status == NDB_STATUS_TEMPORARY) return 0;
    tool_print_error(error);
    return -1;
}

/* The numbers that the cluster gives for the target go on behind those of the source's rows, before
 * the first one is moved: a move that is killed and begun again does not see all of them. False: the
 * reason is printed. */
static bool raise_numbers(struct move *move)
{
    ndb_error_t error = {0};
    int result = 1;

    number_seen_begin(&move->seen, move->target.table);
    for (uint32_t i = 0; move->seen.counts && i < move->source.info.columns; i++) {
        if (move->to[i] != move->seen.column) continue;
        while ((result = look_at_numbers(move, i, &error)) == 0)
            if (!move_pause(&move->pauses, &error, &move->tries)) return false;
        move_pauses_end(&move->pauses);
    }
    if (result != 1) return false;
    while ((result = raise_numbers_seen(move, &error)) == 0) {
        if (move_pause(&move->pauses, &error, &move->tries)) continue;
        number_seen_print(&move->seen, &error);
        return false;
    }
    move_pauses_end(&move->pauses);
    return result == 1;
}

static bool pause_before_pass(struct move_passes *passes, const ndb_error_t *error)
{
    struct move *move = passes->context;

    return move_pause(&move->pauses, error, &move->tries);
}

static bool move_rows(struct move *move)
{
    move->passes = (struct move_passes){.tool = &move->settings->tool,
                                        .source = move->settings->source,
                                        .context = move,
                                        .pass = move_pass,
                                        .pause = pause_before_pass};
    return move_passes_run(&move->passes);
}

static void print_result(const struct settings *settings, const struct move_passes *passes)
{
    if (settings->tool.format == TOOL_TEXT) {
        printf("%" PRIu64 " rows moved from %s to %s%s\n", passes->moved, settings->source,
               settings->target, passes->epoch == 0 ? "" : ", not all of them known to be on disk");
        return;
    }
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "source", settings->source);
    cJSON_AddStringToObject(object, "target", settings->target);
    cJSON_AddNumberToObject(object, "moved", (double)passes->moved);
    tool_json_end(&settings->tool, object);
}

static bool drop_source(struct settings *settings)
{
    char name[300];

    tool_table_name(&settings->tool, settings->source, name, sizeof(name));
    if (ndb_table_drop(settings->tool.ndb, name, 0) == 0) return true;
    (void)fprintf(stderr, "%s: ", name);
    tool_print_error(ndb_error(settings->tool.ndb));
    return false;
}

static int move_data(void *context, int argc, char **argv)
{
    struct settings *settings = context;
    struct move move = {
        .settings = settings, .ndb = settings->tool.ndb, .pauses = settings->pauses};
    (void)argc;
    (void)argv;
    bool good = open_side(settings, settings->source, &move.source) &&
                open_side(settings, settings->target, &move.target);

    if (good && move.source.info.table_id == move.target.info.table_id) {
        (void)fprintf(stderr, "%s and %s are the same table\n", settings->source, settings->target);
        good = false;
    }
    if (good && !make_room(&move)) {
        out_of_memory();
        good = false;
    }
    good = good && match_columns(&move);
    if (good) {
        good = raise_numbers(&move) && move_rows(&move);
        tool_progress_end();
        print_result(settings, &move.passes);
    }
    free_room(&move);
    close_side(&move.source);
    close_side(&move.target);
    if (good && settings->drop_source) good = drop_source(settings);
    return good ? TOOL_OK : TOOL_FAILED;
}

int main(int argc, char **argv)
{
    static const struct tool_program program = {
        .name = "ndb_move_data",
        .doc = "Moves all rows of the source table into the target table, which must be there. "
               "Columns go by name; those that only the target has get their default. A row is in "
               "exactly one of the tables at any time: a move that was interrupted is begun again.",
        .arguments = "SOURCE TARGET",
        .needed = "give a source and a target table",
        .options = options,
        .option = read_option,
        .run = move_data};
    struct settings settings = {.pauses = {.delay_min_ms = 1000, .delay_max_ms = 60000}};

    return tool_main(&program, &settings, argc, argv);
}
