/* import_tell.c -- how far the import of a file has come, and what it waits for. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>

#include "service/wait_told.h"
#include "tools/import_load.h"

#define PROGRESS_MS 200u
/* Time without a row that counts as a stall; it is told a second later. */
#define STALL_MS  1000u
#define BAR_WIDTH 30

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

void import_tell_progress(struct load *load, bool last)
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

void import_tell_stall(struct load *load)
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
                      ndb_connection_ready_nodes(load->settings->tool.connection) == 0
                          ? "a data node: none can be reached (ndb_mgm: SHOW)"
                          : "the data nodes: they have taken no row for a while. Are their disks "
                            "or redo logs full (ndb_mgm: ALL REPORT CHECKPOINT, ALL REPORT REDO)?");
    }
}
