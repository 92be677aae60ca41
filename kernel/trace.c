/* trace.c -- writes a thread's last signals, newest first, with the jam trail between them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include "kernel/thread_state.h"

#define JAMS_PER_LINE 8u

struct writer {
    trace_put *put;
    void *context;
};

static void put_text(const struct writer *writer, const char *text)
{
    writer->put(writer->context, text, (uint32_t)strlen(text));
}

/* The jams from position `from` up to `to`, as far as the ring still had them. */
static void put_jams(const struct jam_ring *jam, uint32_t from, uint32_t to,
                     const struct writer *writer)
{
    char text[256];
    uint32_t on_line = 0;
    if (to - from > JAM_RING) from = to - JAM_RING;
    for (uint32_t at = from; at != to; at++) {
        if (jam->next - at > JAM_RING) continue; /* Overwritten. */
        const struct jam_site *site = jam->at[at & (JAM_RING - 1)];
        if (site == NULL) continue; /* Not yet there when the copy was made. */
        const char *file = strrchr(site->file, '/');
        snprintf(text, sizeof text, "%s%s:%u", on_line == 0 ? "    jam: " : " ",
                 file != NULL ? file + 1 : site->file, site->line);
        put_text(writer, text);
        if (++on_line == JAMS_PER_LINE || at + 1 == to) {
            put_text(writer, "\n");
            on_line = 0;
        }
    }
    if (on_line != 0) put_text(writer, "\n");
}

static void put_signal(const struct thread *thread, const struct trace_entry *entry, uint32_t back,
                       const struct writer *writer)
{
    const struct node_options *options = &thread->node->options;
    char text[1024];
    struct signal sig = {
        .gsn = kind_gsn(entry->head[0]),
        .receiver = entry->head[1],
        .sender = entry->head[2],
        .words = kind_words(entry->head[0]),
        .payload = entry->payload,
        .trace = kind_trace(entry->head[0]),
    };
    if (sig.words > TRACE_PAYLOAD_WORDS) sig.words = TRACE_PAYLOAD_WORDS;
    snprintf(text, sizeof text,
             "-- signal -%u: %s (%u) prio %c, to block %u/%u, from node %u block %u/%u, %u words, "
             "%u sections\n",
             back, options->gsn_name(sig.gsn), sig.gsn,
             kind_prio(entry->head[0]) == PRIO_A ? 'A' : 'B', ref_block(sig.receiver),
             ref_instance(sig.receiver), ref_node(sig.sender), ref_block(sig.sender),
             ref_instance(sig.sender), kind_words(entry->head[0]), kind_sections(entry->head[0]));
    put_text(writer, text);
    uint32_t length = options->describe == NULL ? 0 : options->describe(&sig, text, sizeof text);
    if (length == 0) {
        for (uint32_t i = 0; i < sig.words; i++)
            length +=
                (uint32_t)snprintf(text + length, sizeof text - length, " %08x", sig.payload[i]);
    }
    put_text(writer, "   ");
    put_text(writer, length == 0 ? " (no payload)" : text);
    put_text(writer, "\n");
}

void thread_trace(const struct thread *thread, trace_put *put, void *context)
{
    struct writer writer = {put, context};
    /* A copy: the thread that is looked at may be looping, and its trail is what one wants to see
     * then. */
    struct jam_ring jam = thread->jam;
    uint32_t available = thread->trace_next < TRACE_SIGNALS ? thread->trace_next : TRACE_SIGNALS;
    uint32_t jam_end = jam.next;
    for (uint32_t back = 1; back <= available; back++) {
        const struct trace_entry *entry =
            &thread->trace[(thread->trace_next - back) & (TRACE_SIGNALS - 1)];
        put_signal(thread, entry, back - 1, &writer);
        put_jams(&jam, entry->jam_at, jam_end, &writer);
        jam_end = entry->jam_at;
    }
}
