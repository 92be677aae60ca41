/* ndb_scan.c -- scans of tables and indexes as applications see them. */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include "api/ndb/ndb_blame.h"
#include "api/ndb/ndb_private.h"
#include "api/ndb/record_member.h"
#include "api/ndb/ndb_program.h"
#include "api/ndb/record_state.h"
#include "signals/scan.h"
#include "values/scan_range.h"

static_assert(NDB_ROW_ID == ATTR_ROW_ID && NDB_ROW_GCI == ATTR_ROW_GCI, "one number each");

struct ndb_scan {
    ndb_t *ndb;
    struct ndb_scan *next;
    struct ndb_scan *prev;
    struct api_scan *scan;
    struct ndb_record *record; /* Held; NULL for scans by columns. */
    struct error_slot error;
    struct api_row row; /* The current row. */
    volatile bool ready;
    bool waiting; /* A call waits for it: it cannot be closed. */
    bool ended;
    bool armed;                 /* The callback is to come; counts as pending. */
    ndb_scan_callback on_ready; /* NULL: the scan is asked by calls that wait. */
    void *context;
    /* Signals that must have come before waking this thread is of use: rows, and how many. */
    uint32_t expects;
    uint8_t *unpacked; /* Memory for one row of the record. */
};

static void disarm(struct ndb_scan *s, uint32_t completed)
{
    if (!s->armed) return;
    s->armed = false;
    async_completed(s->ndb, completed);
}

/* The callback may close the scan. */
static void scan_ready(void *context, struct api_scan *scan)
{
    struct ndb_scan *s = context;
    (void)scan;
    s->ready = true;
    if (s->on_ready == NULL) return;
    ndb_t *ndb = s->ndb;
    disarm(s, 1);
    ndb->callback_depth++;
    s->on_ready(s, s->context);
    ndb->callback_depth--;
}

static void arm(struct ndb_scan *s)
{
    if (s->on_ready == NULL || s->armed) return;
    s->armed = true;
    async_begun(s->ndb);
}

/* Nothing can have come before the first answer, so the core waits from now on. */
static void listen(struct ndb_scan *s, const struct ndb_scan_options *options)
{
    s->on_ready = options->ready;
    s->context = options->context;
    if (api_scan_next(s->scan, &s->row) == API_SCAN_WAIT) arm(s);
    async_push(s->ndb);
}

static struct ndb_scan *start(ndb_t *ndb, struct api_scan_options *core,
                              const struct ndb_scan_options *options, uint32_t timeout_ms)
{
    uint32_t error = 0;
    if (options != NULL &&
        ((uint32_t)options->lock > NDB_COMMITTED_READ || options->batch_rows > 992)) {
        error_set(&ndb->error, ERR_PARAMETER, "lock mode, or more than 992 rows per batch");
        return NULL;
    }
    if (options != NULL && options->program != NULL) {
        error = program_usable(options->program, core->table, false);
        if (error != 0) {
            error_set(&ndb->error, error, "program of the scan");
            return NULL;
        }
        core->program = options->program->word;
        core->program_words = options->program->count;
    }
    uint32_t ranges[SCAN_RANGES_WORDS_MAX];
    if (options != NULL && options->range == NULL && options->range_count > 0) {
        error_set(&ndb->error, ERR_BOUNDS, "range_count is %u, and range is NULL",
                  options->range_count);
        return NULL;
    }
    if (options != NULL && options->range != NULL) {
        if (ranges_make(ndb, core->table, options, ranges, &core->range_words) != 0) return NULL;
        core->range = ranges;
    }
    core->limit = options == NULL ? 0 : options->limit;
    struct ndb_scan *s = calloc(1, sizeof *s);
    if (s == NULL) {
        error_set(&ndb->error, ERR_API_MEMORY, NULL);
        return NULL;
    }
    core->lock = options == NULL ? LOCK_COMMITTED : (enum lock_mode)options->lock;
    core->parallelism = options == NULL ? 0 : options->parallelism;
    core->batch_rows = options == NULL ? 0 : options->batch_rows;
    core->batch_bytes = options == NULL ? 0 : options->batch_bytes;
    s->expects = core->attr_words > 0 ? 2 : 1;
    core->ready = scan_ready;
    core->context = s;
    ndb_now(ndb);
    s->ndb = ndb;
    s->scan = api_scan_start(ndb->client, core, timeout_of(ndb->connection, timeout_ms), &error);
    if (s->scan == NULL) {
        error_set(&ndb->error, error, NULL);
        free(s);
        return NULL;
    }
    error_clear(&s->error);
    s->next = ndb->scans;
    if (s->next != NULL) s->next->prev = s;
    ndb->scans = s;
    if (options != NULL && options->ready != NULL) listen(s, options);
    return s;
}

struct ndb_scan *ndb_scan_start(ndb_t *ndb, const struct ndb_record *record,
                                const struct ndb_scan_options *options, uint32_t timeout_ms)
{
    uint32_t attrs[ATTR_READ_MAX];
    if (ndb == NULL) return NULL;
    if (record == NULL) {
        error_set(&ndb->error, ERR_RECORD_NULL, "the scan has no record");
        return NULL;
    }
    struct api_scan_options core = {.table = record->table, .attrs = attrs};
    core.attr_words = record_pack_read(record, options == NULL ? NULL : options->mask, attrs);
    uint8_t *unpacked = calloc(1, record->row_size + 1u);
    if (core.attr_words == 0 || unpacked == NULL) {
        error_set(&ndb->error, unpacked == NULL ? ERR_API_MEMORY : ERR_PARAMETER,
                  "no column wanted");
        free(unpacked);
        return NULL;
    }
    struct ndb_scan *s = start(ndb, &core, options, timeout_ms);
    if (s == NULL) {
        free(unpacked);
        return NULL;
    }
    s->unpacked = unpacked;
    s->record = (struct ndb_record *)(uintptr_t)record;
    atomic_fetch_add(&s->record->references, 1);
    return s;
}

struct ndb_scan *ndb_scan_start_columns(ndb_t *ndb, struct ndb_table *table,
                                        const uint32_t *columns, uint32_t count,
                                        const struct ndb_scan_options *options, uint32_t timeout_ms)
{
    uint32_t attrs[ATTR_READ_MAX];
    if (ndb == NULL) return NULL;
    if (table == NULL || count > ATTR_READ_MAX || (count > 0 && columns == NULL)) {
        error_set(&ndb->error, ERR_PARAMETER, "table or columns");
        return NULL;
    }
    const struct table_def *def = api_table_def(table_core(table));
    for (uint32_t i = 0; i < count; i++) {
        bool pseudo = columns[i] == NDB_ROW_ID || columns[i] == NDB_ROW_GCI;
        if (columns[i] >= def->column_count && !pseudo) {
            char text[NDB_DETAIL_SIZE];
            sql_column_text(def, NULL, text, sizeof text);
            error_set(&ndb->error, ERR_NO_SUCH_COLUMN, "%.200s, column number %u", text,
                      columns[i]);
            return NULL;
        }
        attrs[i] = attr_header(columns[i], 0);
    }
    if (count == 0) attrs[0] = attr_header(ATTR_READ_ALL, 0);
    struct api_scan_options core = {
        .table = table_core(table), .attrs = attrs, .attr_words = count == 0 ? 1 : count};
    return start(ndb, &core, options, timeout_ms);
}

/* Waits until the core has something other than "wait". */
static enum api_scan_step step(struct ndb_scan *s)
{
    enum api_scan_step result = api_scan_next(s->scan, &s->row);
    while (result == API_SCAN_WAIT) {
        s->ready = false;
        atomic_store_explicit(&s->ndb->expects, s->expects, memory_order_relaxed);
        s->waiting = true;
        ndb_wait_for(s->ndb, &s->ready, UINT64_MAX);
        s->waiting = false;
        atomic_store_explicit(&s->ndb->expects, 0, memory_order_relaxed);
        result = api_scan_next(s->scan, &s->row);
    }
    return result;
}

static int outcome(struct ndb_scan *s, enum api_scan_step step)
{
    /* It goes on well: a call that was refused meanwhile has not harmed it. */
    if (step != API_SCAN_ERROR && s->error.error.code != 0) error_clear(&s->error);
    switch (step) {
    case API_SCAN_ROW:
        return 1;
    case API_SCAN_END:
        s->ended = true;
        return 0;
    case API_SCAN_WAIT:
        return NDB_SCAN_NOT_YET;
    case API_SCAN_ERROR:
        break;
    }
    error_set_outcome(&s->error, api_scan_error(s->scan), false);
    blame_link(&s->error, s->ndb->connection);
    s->ndb->error = s->error;
    s->ndb->error.error.detail = s->ndb->error.detail;
    return -1;
}

/* A call that is refused for what it is called in: what a call waits for keeps its own error. */
static int refuse_call(struct ndb_scan *s, uint32_t code, const char *text)
{
    if (!s->waiting) error_set(&s->error, code, "%s", text);
    return error_set(&s->ndb->error, code, "%s", text);
}

static int next_row(struct ndb_scan *s, uint32_t timeout_ms)
{
    if (s->ndb->callback_depth > 0)
        return refuse_call(s, ERR_MISUSE_4507, "ndb_scan_next in a callback");
    if (s->on_ready != NULL)
        return refuse_call(s, ERR_MISUSE_4507, "ndb_scan_next on a scan with a callback");
    if (s->ended) return error_set(&s->error, ERR_SCAN_COMPLETE, NULL);
    if (timeout_ms != 0) {
        ndb_now(s->ndb);
        api_scan_set_timeout(s->scan, timeout_ms);
    }
    return outcome(s, step(s));
}

static int unpack(struct ndb_scan *s, void *row)
{
    uint32_t error = record_unpack(s->record, s->row.pairs, s->row.words, row);
    if (error == 0) return 1;
    error_set(&s->error, error, NULL);
    blame_record(&s->error, error, s->record, NULL, false);
    return -1;
}

int ndb_scan_next(struct ndb_scan *s, const void **row, uint32_t timeout_ms)
{
    if (row != NULL) *row = NULL;
    if (s == NULL) return -1;
    int result = next_row(s, timeout_ms);
    if (result != 1 || s->record == NULL) return result;
    result = unpack(s, s->unpacked);
    if (result == 1 && row != NULL) *row = s->unpacked;
    return result;
}

int ndb_scan_next_copy(struct ndb_scan *s, void *row, uint32_t timeout_ms)
{
    if (s == NULL) return -1;
    if (row == NULL || s->record == NULL)
        return refuse_call(s, ERR_RECORD_NULL,
                           row == NULL ? "no row to copy into"
                                       : "a scan by columns copies no rows");
    int result = next_row(s, timeout_ms);
    return result == 1 ? unpack(s, row) : result;
}

int ndb_scan_try_next(struct ndb_scan *s, const void **row)
{
    if (row != NULL) *row = NULL;
    if (s == NULL) return -1;
    if (s->waiting) return refuse_call(s, ERR_MISUSE_4507, "a call waits for this scan");
    if (s->ended) return error_set(&s->error, ERR_SCAN_COMPLETE, NULL);
    ndb_now(s->ndb); /* The wait that begins here, if there is one, is measured from now. */
    int result = outcome(s, api_scan_next(s->scan, &s->row));
    if (result == NDB_SCAN_NOT_YET) arm(s);
    if (result != 1 || s->record == NULL) return result;
    result = unpack(s, s->unpacked);
    if (result == 1 && row != NULL) *row = s->unpacked;
    return result;
}

int ndb_scan_value(const struct ndb_scan *s, uint32_t column, const void **value, uint32_t *size)
{
    if (value == NULL || size == NULL) return -1;
    *value = NULL;
    *size = 0;
    if (s == NULL || s->row.pairs == NULL) return -1;
    return pairs_find(s->row.pairs, s->row.words, column, value, size) ? 0 : -1;
}

uint32_t ndb_scan_fragment(const struct ndb_scan *s)
{
    return s == NULL ? 0 : s->row.fragment;
}

uint32_t ndb_scan_range(const struct ndb_scan *s)
{
    return s == NULL ? 0 : s->row.range;
}

const ndb_error_t *ndb_scan_error(const struct ndb_scan *s)
{
    return s == NULL ? ndb_error(NULL) : &s->error.error;
}

void ndb_scan_close(struct ndb_scan *s)
{
    if (s == NULL) return;
    if (s->waiting) { /* By a callback that runs inside the wait. */
        error_set(&s->ndb->error, ERR_MISUSE_4507, "ndb_scan_close of what a call waits for");
        return;
    }
    disarm(s, 0);
    api_scan_close(s->scan);
    if (s->prev != NULL) s->prev->next = s->next;
    if (s->next != NULL) s->next->prev = s->prev;
    if (s->ndb->scans == s) s->ndb->scans = s->next;
    ndb_record_release(s->record);
    free(s->unpacked);
    free(s);
}

void scans_drop(ndb_t *ndb)
{
    while (ndb->scans != NULL)
        ndb_scan_close(ndb->scans);
}

int ndb_scan_count(ndb_t *ndb, struct ndb_table *table, uint64_t *count, uint32_t timeout_ms)
{
    return ndb_scan_count_where(ndb, table, NULL, count, timeout_ms);
}

int ndb_scan_count_where(ndb_t *ndb, struct ndb_table *table, const struct ndb_program *program,
                         uint64_t *count, uint32_t timeout_ms)
{
    return ndb_scan_count_range(ndb, table, NULL, program, count, timeout_ms);
}

int ndb_scan_count_range(ndb_t *ndb, struct ndb_table *table, const struct ndb_index_range *range,
                         const struct ndb_program *program, uint64_t *count, uint32_t timeout_ms)
{
    return ndb_scan_count_ranges(ndb, table, range, range == NULL ? 0 : 1, program, count,
                                 timeout_ms);
}

int ndb_scan_count_ranges(ndb_t *ndb, struct ndb_table *table, const struct ndb_index_range *ranges,
                          uint32_t range_count, const struct ndb_program *program, uint64_t *count,
                          uint32_t timeout_ms)
{
    if (ndb == NULL) return -1;
    if (table == NULL || count == NULL)
        return error_set(&ndb->error, ERR_PARAMETER, "no table or no place");
    if (ndb->callback_depth > 0)
        return error_set(&ndb->error, ERR_MISUSE_4507, "ndb_scan_count in a callback");
    struct api_scan_options core = {.table = table_core(table)};
    const struct ndb_scan_options options = {.lock = NDB_COMMITTED_READ,
                                             .program = program,
                                             .range = ranges,
                                             .range_count = range_count};
    struct ndb_scan *s = start(ndb, &core, &options, timeout_ms);
    if (s == NULL) return -1;
    int result = next_row(s, 0);
    *count = api_scan_rows(s->scan);
    ndb_scan_close(s);
    return result;
}

/* The row of one fragment. 0, or -1: it is not what was asked for. */
static int take_figures(const struct api_row *row, struct ndb_fragment_info *fragments,
                        uint32_t count)
{
    struct fragment_figures in;
    const void *value;
    uint32_t size;

    if (row->fragment >= count ||
        !pairs_find(row->pairs, row->words, ATTR_FRAGMENT, &value, &size) || size != sizeof in)
        return -1;
    memcpy(&in, value, sizeof in);
    fragments[row->fragment] = (struct ndb_fragment_info){
        .rows = (uint64_t)in.rows_hi << 32 | in.rows_lo,
        .commits = (uint64_t)in.commits_hi << 32 | in.commits_lo,
        .fixed_bytes = (uint64_t)in.fixed_pages * in.page_bytes,
        .var_bytes = (uint64_t)in.var_pages * in.page_bytes,
        .index_bytes = (uint64_t)in.index_pages * in.page_bytes,
        .var_used_bytes = (uint64_t)in.var_bytes_hi << 32 | in.var_bytes_lo,
    };
    return 0;
}

int ndb_table_fragments(ndb_t *ndb, struct ndb_table *table, struct ndb_fragment_info *fragments,
                        uint32_t count, uint32_t timeout_ms)
{
    static const uint32_t attr = (uint32_t)ATTR_FRAGMENT << 16;
    int result;

    if (ndb == NULL) return -1;
    if (table == NULL || fragments == NULL)
        return error_set(&ndb->error, ERR_PARAMETER, "no table or no place");
    if (ndb->callback_depth > 0)
        return error_set(&ndb->error, ERR_MISUSE_4507, "ndb_table_fragments in a callback");
    if (count < api_table_fragments(table_core(table)))
        return error_set(&ndb->error, ERR_PARAMETER, "place for %u fragments only", count);
    memset(fragments, 0, count * sizeof(*fragments));
    struct api_scan_options core = {
        .table = table_core(table), .attrs = &attr, .attr_words = 1, .copies = true};
    struct ndb_scan *s = start(ndb, &core, NULL, timeout_ms);
    if (s == NULL) return -1;
    while ((result = next_row(s, 0)) == 1) {
        if (take_figures(&s->row, fragments, count) == 0) continue;
        result = error_set(&ndb->error, ERR_API_INTERNAL_4005, NULL);
        break;
    }
    ndb_scan_close(s);
    return result;
}
