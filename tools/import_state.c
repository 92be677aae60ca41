/* import_state.c -- how far the import of a file has come, kept in a file for --resume. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/import_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TITLES               "runno\tstart\tend\trows\tstartpos\tendpos\tbytes\treject\tstate\n"
#define FIELDS               11
#define FIELDS_WITHOUT_TABLE 9 /* Of versions that did not keep it. */

static void make_path(char *path, size_t size, const char *directory, const char *name)
{
    (void)snprintf(path, size, "%s/%s.map", directory, name);
}

/* The former run's file and table: are they this run's? False: printed. */
static bool is_same(const struct import_state *state, const struct import_what *was)
{
    const struct import_what *what = &state->what;

    if (was->file_bytes != what->file_bytes) {
        (void)fprintf(stderr, "%s: the file had %" PRIu64 " bytes then, and has %" PRIu64 " now\n",
                      state->path, was->file_bytes, what->file_bytes);
        return false;
    }
    if (was->table_id == what->table_id && was->table_major == what->table_major) return true;
    (void)fprintf(stderr,
                  "%s: table %s is not the one that rows of %s were imported into (it was "
                  "truncated, made anew or renamed since). Those rows are not in it; without "
                  "--resume the whole file is imported\n",
                  state->path, what->table, what->path);
    return false;
}

/* What the file says. 0 there is none, 1 read, -1 printed. */
static int read_state(struct import_state *state)
{
    FILE *in = fopen(state->path, "r");
    char titles[200];
    char word[16] = "";
    struct import_what was = {0};

    if (in == NULL && errno == ENOENT) return 0;
    if (in == NULL) {
        (void)fprintf(stderr, "%s: %s\n", state->path, strerror(errno));
        return -1;
    }
    int count = 0;
    if (fgets(titles, sizeof(titles), in) != NULL && strcmp(titles, TITLES) == 0)
        count = fscanf(in,
                       "%" SCNu32 " 0 %" SCNu64 " %" SCNu64 " 0 %" SCNu64 " %" SCNu64 " %" SCNu64
                       " %15s %*u %*u %" SCNu64 " %*u %*u %*u %*u %*u sent number %" SCNu64
                       " table %" SCNu32 " %" SCNu32,
                       &state->run, &state->mark, &state->inserted, &state->end_pos,
                       &was.file_bytes, &state->rejected, word, &state->doubt, &state->greatest,
                       &was.table_id, &was.table_major);
    (void)fclose(in);
    state->complete = strcmp(word, "complete") == 0;
    if (count == FIELDS_WITHOUT_TABLE) {
        (void)fprintf(stderr,
                      "%s is of an older version, and does not say whether table %s is still the "
                      "one that rows of %s were imported into. Without --resume the whole file is "
                      "imported; with --continue --ignore-lines=%" PRIu64
                      " only the rows behind the last one that was done, of which those that are "
                      "there are rejected\n",
                      state->path, state->what.table, state->what.path, state->mark);
        return -1;
    }
    if (count != FIELDS || state->doubt < state->mark) {
        (void)fprintf(stderr, "%s is no state of an import; without --resume it is replaced\n",
                      state->path);
        return -1;
    }
    return is_same(state, &was) ? 1 : -1;
}

bool import_state_begin(struct import_state *state, const char *directory, const char *name,
                        const struct import_what *what, bool resume)
{
    *state = (struct import_state){.what = *what};
    make_path(state->path, sizeof(state->path), directory, name);
    state->ends = calloc(IMPORT_WINDOW, sizeof(*state->ends));
    state->kinds = calloc(IMPORT_WINDOW, sizeof(*state->kinds));
    if (state->ends == NULL || state->kinds == NULL) {
        (void)fprintf(stderr, "ndb_import: out of memory\n");
        return false;
    }
    if (resume && read_state(state) < 0) return false;
    state->run++;
    return true;
}

void import_state_row(struct import_state *state, uint64_t number, uint64_t end_pos)
{
    if (state->ends == NULL) return;
    state->ends[number % IMPORT_WINDOW] = end_pos;
    state->kinds[number % IMPORT_WINDOW] = IMPORT_WAITING;
}

void import_state_done(struct import_state *state, uint64_t number, enum import_row_end kind)
{
    if (state->ends == NULL) return;
    state->kinds[number % IMPORT_WINDOW] = (uint8_t)kind;
    for (uint64_t next = state->mark + 1; state->kinds[next % IMPORT_WINDOW] != IMPORT_WAITING;
         next++) {
        uint8_t *done = &state->kinds[next % IMPORT_WINDOW];
        state->inserted += *done == IMPORT_INSERTED;
        state->rejected += *done == IMPORT_REJECTED;
        *done = IMPORT_WAITING;
        state->end_pos = state->ends[next % IMPORT_WINDOW];
        state->mark = next;
    }
}

bool import_state_may_send(const struct import_state *state, uint64_t number)
{
    return state->ends == NULL ||
           (number < state->limit && number - state->mark < IMPORT_WINDOW - 1);
}

bool import_state_save(struct import_state *state, uint64_t limit, uint64_t now_ms)
{
    char path[sizeof(state->path) + 8];

    if (state->ends == NULL) return true;
    (void)snprintf(path, sizeof(path), "%s.new", state->path);
    FILE *out = fopen(path, "w");
    bool good = out != NULL;
    if (limit < state->doubt) limit = state->doubt; /* What was in doubt still is. */
    if (good) {
        (void)fprintf(out,
                      TITLES "%" PRIu32 "\t0\t%" PRIu64 "\t%" PRIu64 "\t0\t%" PRIu64 "\t%" PRIu64
                             "\t%" PRIu64 "\t%s\n",
                      state->run, state->mark, state->inserted, state->end_pos,
                      state->what.file_bytes, state->rejected,
                      state->complete ? "complete" : "done");
        (void)fprintf(out,
                      "%" PRIu32 "\t%" PRIu64 "\t%" PRIu64 "\t0\t%" PRIu64 "\t0\t0\t0\tsent\n"
                      "number\t%" PRIu64 "\n"
                      "table\t%" PRIu32 "\t%" PRIu32 "\n",
                      state->run, state->mark, limit, state->end_pos, state->greatest,
                      state->what.table_id, state->what.table_major);
        good = fflush(out) == 0 && fdatasync(fileno(out)) == 0;
        good = fclose(out) == 0 && good;
    }
    good = good && rename(path, state->path) == 0;
    if (!good) (void)fprintf(stderr, "%s: %s (see --state-dir)\n", state->path, strerror(errno));
    state->limit = limit;
    state->saved_ms = now_ms;
    return good;
}

void import_state_remove(const char *directory, const char *name)
{
    char path[4200];

    make_path(path, sizeof(path), directory, name);
    (void)unlink(path);
}

void import_state_free(struct import_state *state)
{
    free(state->ends);
    free(state->kinds);
    state->ends = NULL;
    state->kinds = NULL;
}

bool import_state_trim_rejects(const char *path, uint64_t mark)
{
    char new_path[4300];
    char *line = NULL;
    size_t room = 0;
    ssize_t size;

    (void)snprintf(new_path, sizeof(new_path), "%s.new", path);
    FILE *in = fopen(path, "r");
    if (in == NULL && errno == ENOENT) return true;
    FILE *out = in == NULL ? NULL : fopen(new_path, "w");
    bool good = out != NULL;
    while (good && (size = getline(&line, &room, in)) > 0) {
        if (line[size - 1] != '\n' || strtoull(line, NULL, 10) > mark) continue;
        good = fwrite(line, 1, (size_t)size, out) == (size_t)size;
    }
    free(line);
    if (in != NULL) (void)fclose(in);
    if (out != NULL && fclose(out) != 0) good = false;
    good = good && rename(new_path, path) == 0;
    if (!good) (void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return good;
}
