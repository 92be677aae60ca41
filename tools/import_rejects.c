/* import_rejects.c -- rows that are refused: into the reject file, up to so many. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/import_load.h"

/* A row on its way to the reject file, which takes one of megabytes without memory for all of it. A
 * shorter one, as rows are, goes to a pipe in one piece. */
struct line {
    struct import_reject_file *file;
    char text[PIPE_BUF];
    size_t size;
    bool failed; /* As errno says. */
};

static void put(struct line *line, char byte)
{
    if (line->size == sizeof(line->text) && !line->failed) {
        line->failed = !import_reject_file_write(line->file, line->text, line->size, false);
        line->size = 0;
    }
    if (!line->failed) line->text[line->size++] = byte;
}

static void put_escaped(struct line *line, const char *text, uint32_t size)
{
    for (uint32_t i = 0; i < size && !line->failed; i++) {
        char letter = text[i] == '\t'   ? 't'
                      : text[i] == '\n' ? 'n'
                      : text[i] == '\r' ? 'r'
                      : text[i] == '\\' ? '\\'
                                        : '\0';
        if (letter != '\0') put(line, '\\');
        put(line, letter != '\0' ? letter : text[i]);
    }
}

void import_rejects_failed(struct load *load)
{
    const struct import_reject_file *rejects = &load->rejects;
    bool itself = rejects->failed[0] == '\0';
    bool gone = itself && errno == ESTALE;
    const char *why = strerror(errno);
    struct stat status;

    if (itself && errno == EWOULDBLOCK) why = "another ndb_import writes to it";
    if (itself && errno == EEXIST)
        why = "another program has written to it since this import began";
    if (gone)
        why = "it was removed or replaced since this import began, and the rejected rows with it";
    if (itself && errno == EBADMSG)
        why = "it is no file of rejected rows (see --rejects-file and --state-dir)";
    if (itself && errno == ENXIO)
        why = stat(rejects->path, &status) == 0 && S_ISSOCK(status.st_mode)
                  ? "it is a socket"
                  : "nobody reads this pipe";
    if (itself && errno == ECANCELED)
        why = "interrupted, and who reads it has not read on for two seconds";
    (void)fprintf(stderr, "%s%s: %s%s%s. Rejected rows cannot be kept; %s\n", load->bar ? "\n" : "",
                  rejects->path, rejects->failed, itself ? "" : ": ", why,
                  !gone                     ? "what is not in this file counts as not done"
                  : import_can_repeat(load) ? "those that count already are not tried again"
                                            : "those before are not tried again");
    load->rejects_lost = true;
    import_fail(load);
}

bool import_rejects_begin(struct load *load)
{
    if (import_reject_file_begin(&load->rejects)) return true;
    import_rejects_failed(load);
    return false;
}

bool import_too_many_rejected(const struct load *load)
{
    return load->totals.rejected_before + load->totals.rejected > load->settings->rejects_max;
}

/* Without rows that this run, or one before it, will reject again. Who goes on by --ignore-lines has
 * rows of the run before in there, and no others. */
static bool open_rejects(struct load *load)
{
    uint64_t before = import_can_repeat(load) ? 0 : load->settings->ignore_lines;
    bool goes_on = load->state.run > 1 || load->rejects_begun;

    if (!goes_on && !import_reject_file_trim(&load->rejects, before)) return false;
    return import_reject_file_open(&load->rejects);
}

/* False: errno tells. */
static bool write_row(struct load *load, uint64_t number, int32_t code, const char *message,
                      const char *raw, uint32_t raw_size)
{
    struct line line = {.file = &load->rejects};

    line.size = (size_t)snprintf(line.text, sizeof(line.text), "%" PRIu64 "\t%d\t", number, code);
    put_escaped(&line, message, (uint32_t)strlen(message));
    put(&line, '\t');
    put_escaped(&line, raw, raw_size);
    put(&line, '\n');
    /* Who corrects a pipe's rows may wait for them; and no state would know of one that is lost. */
    return !line.failed &&
           import_reject_file_write(line.file, line.text, line.size, !load->input.regular);
}

void import_reject(struct load *load, uint64_t number, int32_t code, const char *message,
                   const char *raw, uint32_t raw_size)
{
    const struct import_settings *settings = load->settings;

    if (load->rejects_lost || (load->failed && import_can_repeat(load))) return;
    if (!load->rejects_begun || load->rejects.file == NULL) {
        (void)fprintf(stderr, "%s%s: row %" PRIu64 " rejected: %d: %s\n", load->bar ? "\n" : "",
                      load->path, number, code, message);
        if (!open_rejects(load)) {
            import_rejects_failed(load);
            return;
        }
        load->rejects_begun = true;
    }
    if (!write_row(load, number, code, message, raw, raw_size)) {
        import_rejects_failed(load);
        return;
    }
    load->totals.rejected++;
    import_state_done(&load->state, number, IMPORT_REJECTED);
    if (!import_too_many_rejected(load) || load->stop) return;
    if (settings->rejects_max > 0)
        (void)fprintf(stderr, "%s: more than %" PRIu64 " rows rejected\n", load->path,
                      settings->rejects_max);
    load->stop = true;
}

/* Rows of another run, where no state would know of them, and this one has rejected none: who
 * imports the reject file, or goes on behind this run, would have them twice. */
static void tell_former(struct load *load)
{
    uint64_t rows = 0;

    if (import_can_repeat(load) || load->rejects_begun) return;
    if (!import_reject_file_count(&load->rejects, load->settings->ignore_lines, &rows)) return;
    if (rows > 0)
        (void)fprintf(stderr,
                      "%s: no row is rejected; %" PRIu64 " that stand in %s are of another run\n",
                      load->path, rows, load->rejects.path);
}

bool import_rejects_end(struct load *load)
{
    tell_former(load);
    bool anew = load->settings->resume && load->state.run == 1;

    if (!anew || load->rejects_begun || !load->at_end || load->failed) return true;
    if (import_reject_file_trim(&load->rejects, 0)) return true;
    import_rejects_failed(load);
    return false;
}
