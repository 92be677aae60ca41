/* import_rejects.c -- rows that are refused: into the reject file, up to so many. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/import_load.h"
#include "tools/import_reject_file.h"

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

void import_rejects_failed(struct load *load)
{
    const char *why = errno == EWOULDBLOCK ? "another ndb_import writes to it" : strerror(errno);

    (void)fprintf(stderr,
                  "%s%s: %s. Rejected rows cannot be kept; what is not in this file counts "
                  "as not done\n",
                  load->bar ? "\n" : "", load->rejects_path, why);
    load->rejects_lost = true;
    import_fail(load);
}

bool import_too_many_rejected(const struct load *load)
{
    return load->totals.rejected_before + load->totals.rejected > load->settings->rejects_max;
}

/* Without rows that this run, or one before it, will reject again. Who goes on by --ignore-lines has
 * rows of the run before in there, and no others. */
static FILE *open_rejects(const struct load *load)
{
    uint64_t before = import_can_repeat(load) ? 0 : load->settings->ignore_lines;
    bool goes_on = load->state.run > 1 || load->rejects_begun;

    if (!goes_on && !import_reject_file_trim(load->rejects_path, before)) return NULL;
    return import_reject_file_open(load->rejects_path);
}

void import_reject(struct load *load, uint64_t number, int32_t code, const char *message,
                   const char *raw, uint32_t raw_size)
{
    const struct import_settings *settings = load->settings;

    if (load->rejects_lost || (load->failed && import_can_repeat(load))) return;
    if (load->rejects == NULL) {
        (void)fprintf(stderr, "%s%s: row %" PRIu64 " rejected: %d: %s\n", load->bar ? "\n" : "",
                      load->path, number, code, message);
        load->rejects = open_rejects(load);
        if (load->rejects == NULL) {
            import_rejects_failed(load);
            return;
        }
        load->rejects_begun = true;
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
    if (!import_too_many_rejected(load) || load->stop) return;
    if (settings->rejects_max > 0)
        (void)fprintf(stderr, "%s: more than %" PRIu64 " rows rejected\n", load->path,
                      settings->rejects_max);
    load->stop = true;
}

bool import_rejects_end(struct load *load)
{
    bool anew = load->settings->resume && load->state.run == 1;

    if (!anew || load->rejects_begun || !load->at_end || load->failed) return true;
    if (import_reject_file_trim(load->rejects_path, 0)) return true;
    import_rejects_failed(load);
    return false;
}
