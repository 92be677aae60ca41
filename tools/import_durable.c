/* import_durable.c -- the state of a load: what of it is on disk, and going back when that is lost.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A commit that is answered is in the memory of all its data nodes. The cluster is asked, while the
 * load goes on, whether all commits up to an epoch are on their disks; what was answered before the
 * question is then what the state file may count.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "tools/import_load.h"
#include "tools/tool_durable.h"
#include "values/errors.h"

#define SAVE_MS 1000u /* Longest time between two writes of the state. */
/* Rows that may be sent after a write; the next one follows half of them at the latest. */
#define SAVE_ROWS  32768u
#define DURABLE_MS 1000u /* Longest wait of one question. */

/* ---- What is on disk ---- */

void import_committed(struct load *load, uint64_t epoch)
{
    struct import_commits *commits = &load->commits;

    /* What was on disk by the end of that life is there still, and the cluster knows it. */
    if (commits->epoch != 0 && tool_epoch_life(commits->epoch) != tool_epoch_life(epoch)) {
        if (commits->former != 0 || commits->memory) commits->lost = true;
        commits->former = commits->epoch;
        commits->epoch = 0;
    }
    if (epoch > commits->epoch) commits->epoch = epoch;
}

/* The epoch to ask for next, 0: there is none. That of the life before comes first: what is known of
 * this life's does not count without it. */
static uint64_t not_known(const struct import_commits *commits)
{
    return commits->former != 0 ? commits->former : commits->epoch;
}

/* A pipe may be silent for days, and the cluster be away meanwhile: what it could not be asked then
 * is asked again, and nothing has failed before the end. */
static bool is_asked_again(const struct load *load)
{
    return load->state.ends == NULL && !load->stop;
}

/* The rows of the last question are on disk, or there is no disk. */
static void answered_well(struct load *load, int result, uint64_t epoch)
{
    struct import_commits *commits = &load->commits;

    commits->tries = 0;
    if (commits->lost) return; /* Some of these rows may be of the life before. */
    if (commits->former != 0) {
        /* Nothing was asked of the rows of this life, which stand behind the others; and without
         * files nothing is left of the life before. */
        if (commits->memory) commits->lost = true;
        if (commits->former == epoch) commits->former = 0;
        return;
    }
    if (result == 0) commits->point.epoch = epoch;
    import_state_durable(&load->state, &commits->point);
    /* That a cluster without files was lost while a pipe was silent is seen by its epoch. */
    if (commits->memory && is_asked_again(load)) return;
    if (commits->epoch == epoch || commits->memory) commits->epoch = 0;
}

static void told(int result, uint64_t epoch, const ndb_error_t *error, void *context)
{
    struct load *load = context;
    struct import_commits *commits = &load->commits;

    commits->waiting = false;
    if (error->code == ERR_NO_FILES_NOT_DURABLE) commits->memory = true;
    if (result == 0 || commits->memory) {
        answered_well(load, result, epoch);
    } else if (error->code == ERR_EPOCH_LOST || error->code == ERR_EPOCH_FORGOTTEN) {
        commits->lost = true;
    } else if (commits->early) {
        return; /* It is asked again, at the latest at the end. */
    } else if (++commits->tries > load->settings->temporary_max ||
               (error->status != NDB_STATUS_TEMPORARY && error->code != ERR_REQUEST_TIMEOUT)) {
        (void)fprintf(stderr, "%s: whether the rows are on disk: ", load->path);
        tool_print_error(error);
        import_fail(load);
    }
}

/* Asks for all rows that are answered, or knows it. */
static void ask(struct load *load)
{
    struct import_commits *commits = &load->commits;
    ndb_t *ndb = load->settings->tool.ndb;

    if (commits->waiting || commits->lost) return;
    commits->point = load->state.answered;
    commits->point.epoch = load->state.durable.epoch;
    uint64_t epoch = not_known(commits);
    if (epoch == 0) {
        import_state_durable(&load->state, &commits->point);
        return;
    }
    commits->asked_ms = import_now_ms();
    commits->early = is_asked_again(load);
    commits->waiting = ndb_wait_durable_async(ndb, epoch, DURABLE_MS, told, load) == 0;
    if (commits->waiting || commits->early) return;
    commits->tries++;
    tool_print_error(ndb_error(ndb));
    import_fail(load);
}

bool import_settle(struct load *load)
{
    const struct import_commits *commits = &load->commits;

    /* The cluster has had its say, or cannot be asked: nothing better will be known. */
    if (load->failed && !commits->waiting && (commits->tries > 0 || commits->lost)) return true;
    ask(load);
    return !commits->waiting && not_known(commits) == 0 && !commits->lost;
}

/* Rejected rows behind the point will be rejected again. */
static bool trim_rejects(struct load *load)
{
    struct import_reject_file *rejects = &load->rejects;

    if (!load->rejects_begun) return true;
    /* The trimming would make nothing of a file that is gone with rows that count as done. */
    if ((rejects->file == NULL || import_reject_file_is_there(rejects)) &&
        import_reject_file_trim(rejects, load->state.durable.mark))
        return true;
    import_rejects_failed(load);
    return false;
}

/* What went to a stream cannot be taken back, and is written again. */
static void tell_rejected_again(const struct load *load)
{
    uint64_t rejected = load->totals.rejected_before + load->totals.rejected;

    if (rejected == load->state.durable.rejected || load->rejects.file == NULL ||
        !import_reject_file_is_stream(&load->rejects))
        return;
    (void)fprintf(stderr,
                  "%s: %" PRIu64 " rejected rows behind %" PRIu64 " have gone there, which do not "
                  "count: those that are rejected again come again\n",
                  load->rejects.path, rejected - load->state.durable.rejected,
                  load->state.durable.mark);
}

void import_go_back(struct load *load)
{
    struct import_state *state = &load->state;
    uint64_t sent = load->number;

    if (!import_can_repeat(load)) {
        (void)fprintf(stderr,
                      "%s: commits were lost in a restart of the cluster, and %s: some of the rows "
                      "up to %" PRIu64 " may not be in the table\n",
                      load->path,
                      state->ends == NULL ? "a pipe cannot be read again"
                                          : "rows that got numbers would come twice",
                      sent);
        import_fail(load);
        return;
    }
    (void)fprintf(stderr,
                  "%s%s: commits were lost in a restart of the cluster; rows behind %" PRIu64
                  " are imported again\n",
                  load->bar ? "\n" : "", load->path, state->durable.mark);
    tell_rejected_again(load);
    import_state_rewind(state, sent);
    load->commits.lost = false;
    load->commits.epoch = load->commits.former = 0;
    load->totals.rows = state->durable.inserted - load->totals.rows_before;
    load->totals.rejected = state->durable.rejected - load->totals.rejected_before;
    load->number = state->durable.mark;
    load->stop = false;
    load->at_end = false;
    bool good = trim_rejects(load);
    if (good && !import_input_seek(&load->input, state->durable.end_pos)) {
        (void)fprintf(stderr, "%s: %s\n", load->path, strerror(errno));
        good = false;
    }
    if (!good || !import_state_save(state, sent + SAVE_ROWS, import_now_ms())) import_fail(load);
}

/* ---- The state ---- */

/* What the options make of the file's rows, as one number. Columns may have other names by now. */
static uint32_t options_of(const struct load *load)
{
    const struct import_settings *settings = load->settings;
    const struct csv_format *format = &load->format;
    struct {
        uint32_t columns[CSV_FIELDS_MAX];
        char text[512];
    } all = {.columns = {0}};

    memcpy(all.columns, load->columns, load->column_count * sizeof(load->columns[0]));
    (void)snprintf(all.text, sizeof(all.text), "%u\t%.*s\t%.*s\t%d\t%d\t%d\t%d\t%" PRIu64 "\t%s",
                   load->column_count, (int)format->field_end_size, format->field_end,
                   (int)format->line_end_size, format->line_end, format->quote, format->escape,
                   format->cr_optional, settings->missing_ai, settings->ignore_lines,
                   settings->null_text == NULL ? "\\N" : settings->null_text);
    return import_checksum(&all, sizeof(all));
}

/* What the state counts was on disk. Is it there still, or was the cluster started from older data
 * since? False: the reason is printed. */
static bool is_still_there(const struct load *load)
{
    const struct import_state *state = &load->state;
    ndb_t *ndb = load->settings->tool.ndb;

    if (state->durable.epoch == 0 ||
        ndb_wait_durable(ndb, state->durable.epoch, TOOL_READY_MS) == 0)
        return true;
    const ndb_error_t *error = ndb_error(ndb);
    if (error->code == ERR_NO_FILES_NOT_DURABLE) return true;
    if (error->code == ERR_EPOCH_LOST || error->code == ERR_EPOCH_FORGOTTEN ||
        error->code == ERR_EPOCH_IN_FUTURE) {
        (void)fprintf(stderr,
                      "%s: rows of %s that were imported before are not in the table any more, or "
                      "not all of them: the cluster was started from older data since. Without "
                      "--resume the whole file is imported; with --rejects the rows that are there "
                      "are rejected\n",
                      state->path, load->path);
    } else {
        (void)fprintf(stderr, "%s: whether the rows of the run before are there: ", load->path);
        tool_print_error(error);
    }
    return false;
}

/* What the state does not count will be rejected again. When it counts none, all that the file has
 * is of another import. */
static bool trim_former_rejects(struct load *load)
{
    const struct import_point *point = &load->state.durable;

    struct import_reject_file *rejects = &load->rejects;

    if (!import_reject_file_trim(rejects, point->rejected > 0 ? point->mark : 0)) {
        import_rejects_failed(load);
        return false;
    }
    if (rejects->rows < point->rejected)
        (void)fprintf(stderr,
                      "%s: of the %" PRIu64 " rows that were rejected before %" PRIu64
                      " are there; the others were taken out of it since, or are in another file\n",
                      rejects->path, point->rejected, rejects->rows);
    return true;
}

/* Goes on where the state says. False: the reason is printed. */
bool import_begin_state(struct load *load, const char *table_name, const char *state_name)
{
    const struct import_settings *settings = load->settings;
    struct import_state *state = &load->state;
    struct ndb_table_info info;

    if (!load->input.regular) { /* A pipe cannot be read again. */
        state->run = 1;
        if (!settings->resume) return import_rejects_begin(load);
        (void)fprintf(stderr, "%s: --resume needs a file\n", load->path);
        return false;
    }
    ndb_table_describe(load->table, &info);
    struct import_what what = {.path = load->path,
                               .table = table_name,
                               .file_bytes = load->input.bytes_total,
                               .fd = load->input.fd,
                               .table_id = info.table_id,
                               .table_major = info.version_major,
                               .options = options_of(load),
                               .left_out = settings->missing_ai ? settings->ignore_lines : 0};
    if (ndb_cluster_identity(settings->tool.ndb, &what.cluster, 0) != 0) {
        (void)fprintf(stderr, "%s: which cluster this is: ", load->path);
        tool_print_error(ndb_error(settings->tool.ndb));
        return false;
    }
    if (!import_state_begin(state, settings->state_dir, state_name, &what, settings->resume) ||
        !is_still_there(load))
        return false;
    load->totals.run = state->run;
    load->totals.rows_before = state->durable.inserted;
    load->totals.rejected_before = state->durable.rejected;
    load->number = state->durable.mark;
    load->seen.greatest = state->durable.greatest;
    if (!import_rejects_begin(load) || (state->run > 1 && !trim_former_rejects(load))) return false;
    if (state->complete) return true;
    if (!import_input_seek(&load->input, state->durable.end_pos)) {
        (void)fprintf(stderr, "%s: %s\n", load->path, strerror(errno));
        return false;
    }
    load->first_byte = state->durable.end_pos;
    if (!import_state_save(state, load->number + SAVE_ROWS, import_now_ms())) return false;
    if (settings->resume && state->run == 1)
        (void)fprintf(stderr,
                      "%s was not there: the whole file is imported; rows that are in the table "
                      "with the same values count as imported, each of several equal ones too\n",
                      state->path);
    return true;
}

/* What the state counts as rejected stands in the reject file, also after a loss of power. */
static bool keep_rejects(struct load *load)
{
    if (load->rejects_lost) return false;
    FILE *file = load->rejects.file;
    if (file == NULL) return true;
    bool counted = load->rejects_begun || load->state.durable.rejected > 0;
    bool there = !counted || import_reject_file_is_there(&load->rejects);
    if (there && fflush(file) == 0 && (fdatasync(fileno(file)) == 0 || errno == EINVAL))
        return true; /* EINVAL: it is no file that could be synced. */
    import_rejects_failed(load);
    return false;
}

int import_asks_in_ms(const struct load *load, uint64_t now)
{
    const struct import_commits *commits = &load->commits;

    if (not_known(commits) == 0 || commits->waiting || commits->memory || !is_asked_again(load))
        return -1;
    uint64_t next = commits->asked_ms + SAVE_MS;
    return now < next ? (int)(next - now) : 0;
}

/* Writes the state when it is time, and takes a sample of the speed. */
void import_keep_state(struct load *load)
{
    struct import_state *state = &load->state;
    uint64_t now = import_now_ms();

    if (now - load->sample_ms >= 1000u) {
        if (load->sample_ms != 0)
            import_series_add(&load->rows_per_second,
                              (double)(load->totals.rows - load->sample_rows) * 1000.0 /
                                  (double)(now - load->sample_ms));
        load->sample_ms = now;
        load->sample_rows = load->totals.rows;
    }
    if (load->stop || load->commits.lost) return;
    if (state->ends == NULL) {
        if (import_asks_in_ms(load, now) == 0) ask(load);
        return;
    }
    if (now - state->saved_ms < SAVE_MS && load->number + SAVE_ROWS / 2 < state->limit) return;
    ask(load);
    if (keep_rejects(load) && !import_state_save(state, load->number + SAVE_ROWS, now))
        import_fail(load);
}

/* The begin of the line about how to go on; after an interruption it says what is in the table. */
static void tell_rows(const struct load *load)
{
    const struct import_commits *commits = &load->commits;
    bool sure = !commits->lost && commits->tries == 0 && !load->cut_off;

    (void)fprintf(stderr, "%s: ", load->path);
    if (!load->interrupted) return;
    (void)fprintf(
        stderr, "interrupted, %" PRIu64 " rows %s, ", load->totals.rows_before + load->totals.rows,
        sure ? "are in the table" : "were put into the table, and those not on disk may be gone");
    if (load->commits.memory)
        (void)fprintf(stderr, "in memory only; ");
    else if (load->totals.on_disk)
        (void)fprintf(stderr, "on disk; ");
    else if (load->state.ends != NULL)
        (void)fprintf(stderr, "%" PRIu64 " of them known to be on disk; ",
                      load->state.durable.inserted);
    else
        (void)fprintf(stderr, "not known to be on disk; ");
}

/* How to go on. Rows that get numbers cannot be told from those that are in the table already. */
static void tell_rest(const struct load *load)
{
    uint64_t mark = load->state.saved_mark;

    tell_rows(load);
    (void)fprintf(stderr, "row %" PRIu64 " is the last one that is done; ", mark);
    if (!load->settings->missing_ai)
        (void)fprintf(stderr, "--resume goes on there\n");
    else if (mark >= load->number)
        (void)fprintf(stderr, "--ignore-lines=%" PRIu64 " goes on there\n", mark);
    else
        (void)fprintf(stderr,
                      "--ignore-lines=%" PRIu64 " goes on there, but some of the rows up to "
                      "%" PRIu64 " may be in the table already and would come twice\n",
                      mark, load->number);
}

/* The same of a pipe: each row that was read is in the table or in the reject file, unless that
 * could not be written, commits are lost or not known to be kept, or answers are missing. */
static void tell_rest_of_pipe(const struct load *load)
{
    bool kept = !load->commits.lost && (load->totals.on_disk || load->commits.memory);
    bool none = load->number < load->settings->ignore_lines; /* Nothing was sent. */
    uint64_t mark = none ? load->settings->ignore_lines : load->number;

    tell_rows(load);
    (void)fprintf(stderr, "row %" PRIu64 " is the last one that %s; ", mark,
                  none ? "is left out" : "was read");
    if (kept && !load->rejects_lost && !load->cut_off)
        (void)fprintf(stderr, "--ignore-lines=%" PRIu64 " goes on behind it\n", mark);
    else
        (void)fprintf(stderr, "some of the rows up to it may be neither in the table nor in %s\n",
                      load->rejects.path);
}

/* Without files nothing has outlived the loss of all data nodes, whatever was answered before. */
static bool all_is_gone(const struct load *load)
{
    const struct import_commits *commits = &load->commits;

    return commits->memory &&
           ndb_connection_lives(load->settings->tool.connection) != commits->life;
}

static void tell_loss(const struct load *load)
{
    (void)fprintf(
        stderr,
        "%s: all data nodes were lost, and a cluster without files (Diskless) has lost its "
        "tables with all rows then: those of this import, and of runs before, are gone; "
        "make the table anew and import the whole, without --resume\n",
        load->path);
}

/* Nobody can go on with a file that has changed. */
static void tell_cut(const struct load *load)
{
    tell_rows(load);
    (void)fprintf(stderr,
                  "row %" PRIu64 " is the last one that is done; --resume refuses the file, "
                  "which is another one now: without it, and with --rejects, the rows that are in "
                  "the table are rejected, and the others imported\n",
                  load->state.durable.mark);
}

void import_end_state(struct load *load)
{
    struct import_state *state = &load->state;
    bool gone = all_is_gone(load);

    if (gone) load->failed = true;
    bool kept = keep_rejects(load) && import_rejects_end(load);

    state->complete = kept && load->at_end && !load->failed && state->durable.mark == load->number;
    state->memory = load->commits.memory;
    state->cut |= load->input.cut;
    load->totals.complete = load->at_end && !load->failed;
    load->totals.on_disk = not_known(&load->commits) == 0 && !load->commits.lost;
    if (!kept || !import_state_save(state, load->number, import_now_ms())) load->failed = true;
    if (gone)
        tell_loss(load);
    else if (load->other_table)
        (void)fprintf(
            stderr,
            "%s: the table is not the one any more that it was: what of the file is in it "
            "has to be looked at\n",
            load->path);
    else if (state->cut && import_can_repeat(load))
        tell_cut(load);
    else if (!load->totals.complete && state->ends != NULL)
        tell_rest(load);
    else if (!load->totals.complete)
        tell_rest_of_pipe(load);
}
