/* ndb_mgm_reports.c -- what the management console asks: which nodes there are, how they are, what
 * they report. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/ndb_mgm_reports.h"

#include <stdlib.h>
#include <string.h>

#include "tools/ndb_mgm_print.h"
#include "tools/ndb_mgm_tell.h"
#include "tools/ndb_mgm_wait.h"
#include "values/errors.h"

uint32_t console_find_nodes(const struct console *console, bool linked, uint32_t *nodes)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    uint32_t count = 0;

    console_wait_server(console);
    if (state != NULL && ndb_mgm_get_status(console->handle, state) == 0) {
        for (uint32_t i = 0; i < state->count; i++) {
            bool away = state->nodes[i].status == NDB_MGM_STATUS_NO_CONTACT;
            if (state->nodes[i].type == NDB_MGM_NODE_NDB && away != linked)
                nodes[count++] = state->nodes[i].node_id;
        }
    }
    free(state);
    return count;
}

uint32_t console_find_asked(const struct console *console, const struct console_command *command,
                            uint32_t *nodes)
{
    if (command->all) return console_find_nodes(console, true, nodes);
    memcpy(nodes, command->nodes, command->node_count * sizeof(nodes[0]));
    return command->node_count;
}

static void wait_for_answers(const struct console *console, const struct console_command *command)
{
    uint32_t nodes[NDB_MGM_NODES_MAX];
    uint32_t count = console_find_asked(console, command, nodes);

    console_wait_answers(console, nodes, count);
}

/* What a node's report with this error does to the command. Asked for all, nodes that are down are
 * not an error; one that is there and does not answer is. */
static int report_error(const struct console_command *command, uint32_t error)
{
    return command->all && error == ERR_MGM_NO_CONTACT ? 0 : (int)error;
}

int console_show(struct console *console)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    int rc = 0;

    if (state == NULL) return NDB_MGM_OUT_OF_MEMORY;
    console_wait_server(console);
    int failed = ndb_mgm_get_status(console->handle, state);
    console_answered(console);
    if (failed != 0)
        rc = console_print_error(console, 0);
    else if (console->json)
        print_show_json(console->out, state);
    else
        print_show(console->out, state);
    free(state);
    return rc;
}

int console_status(struct console *console, const struct console_command *command)
{
    struct ndb_mgm_cluster_state *state = malloc(sizeof(*state));
    uint32_t wanted = command->all ? 0 : command->nodes[0];
    bool found = command->all;
    int rc = 0;

    if (state == NULL) return NDB_MGM_OUT_OF_MEMORY;
    console_wait_server(console);
    int failed = ndb_mgm_get_status(console->handle, state);
    console_answered(console);
    if (failed != 0) {
        rc = console_print_error(console, 0);
        free(state);
        return rc;
    }
    for (uint32_t i = 0; i < state->count; i++) {
        const struct ndb_mgm_node_state *node = &state->nodes[i];
        if (wanted != 0 ? node->node_id != wanted : node->type != NDB_MGM_NODE_NDB) continue;
        found = true;
        if (!console->json) print_status(console->out, node);
    }
    if (!found) {
        (void)fprintf(console_error_out(console), "%u: Node not found\n", wanted);
        rc = NDB_MGM_USAGE_ERROR;
    } else if (console->json) {
        print_status_json(console->out, state, wanted);
    }
    free(state);
    return rc;
}

int console_report_memory(struct console *console, const struct console_command *command)
{
    struct ndb_mgm_memory *reports = calloc(NDB_MGM_NODES_MAX, sizeof(*reports));
    int rc = 0;

    if (reports == NULL) return NDB_MGM_OUT_OF_MEMORY;
    wait_for_answers(console, command);
    int count = ndb_mgm_report_memory(console->handle, command->all ? 0 : command->nodes[0],
                                      reports, NDB_MGM_NODES_MAX);
    console_answered(console);
    if (count < 0) rc = console_print_error(console, 0);
    for (int i = 0; i < count; i++) {
        int error = report_error(command, reports[i].error);
        if (error != 0) rc = error;
        if (!console->json && (uint32_t)error == reports[i].error)
            print_memory(console->out, &reports[i]);
    }
    if (count >= 0 && console->json) print_memory_json(console->out, reports, (uint32_t)count);
    free(reports);
    return rc;
}

int console_report_disk(struct console *console, const struct console_command *command)
{
    struct ndb_mgm_disk *reports = calloc(NDB_MGM_NODES_MAX, sizeof(*reports));
    int rc = 0;

    if (reports == NULL) return NDB_MGM_OUT_OF_MEMORY;
    wait_for_answers(console, command);
    int count = ndb_mgm_report_disk(console->handle, command->all ? 0 : command->nodes[0], reports,
                                    NDB_MGM_NODES_MAX);
    console_answered(console);
    if (count < 0) rc = console_print_error(console, 0);
    for (int i = 0; i < count; i++) {
        int error = report_error(command, reports[i].error);
        if (error != 0) rc = error;
        if (console->json || (uint32_t)error != reports[i].error) continue;
        if (command->verb == VERB_REPORT_REDO)
            print_redo(console->out, &reports[i]);
        else
            print_checkpoint(console->out, &reports[i]);
    }
    if (count >= 0 && console->json) print_disk_json(console->out, reports, (uint32_t)count);
    free(reports);
    return rc;
}

/* Whoever has a link has kept events of it; the report does not say who has not answered. */
static int name_silent(struct console *console, const uint32_t *nodes, uint32_t count,
                       const struct ndb_mgm_event *events, int event_count)
{
    int rc = 0;

    for (uint32_t i = 0; i < count; i++) {
        bool told = false;
        for (int at = 0; at < event_count && !told; at++)
            told = events[at].source_node == nodes[i];
        if (told) continue;
        (void)fprintf(console_error_out(console), "Node %u does not answer\n", nodes[i]);
        rc = ERR_MGM_SEND;
    }
    return rc;
}

int console_report_events(struct console *console, const struct console_command *command)
{
    struct ndb_mgm_event *events = calloc(NDB_MGM_EVENTS_MAX, sizeof(*events));
    uint32_t nodes[NDB_MGM_NODES_MAX];
    int rc = 0;

    if (events == NULL) return NDB_MGM_OUT_OF_MEMORY;
    uint32_t asked = console_find_asked(console, command, nodes);
    console_wait_answers(console, nodes, asked);
    int count = ndb_mgm_report_events(console->handle, command->all ? 0 : command->nodes[0], events,
                                      NDB_MGM_EVENTS_MAX);
    console_answered(console);
    if (count < 0)
        rc = console_print_error(console, 0);
    else if (console->json)
        print_events_json(console->out, events, (uint32_t)count);
    else
        print_events(console->out, events, (uint32_t)count);
    if (count >= 0 && command->all) rc = name_silent(console, nodes, asked, events, count);
    free(events);
    return rc;
}
