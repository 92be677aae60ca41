/* points_table.c -- which signals of which protocol have been points of failure, and in which role
 * somebody died there; and which signals between data nodes no protocol has executed. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signals/gsn.h"
#include "tests/sim/points.h"

#define PROTOCOLS_MAX 80u
#define LINE_WORDS    100u
#define SENT          4u /* Bits of a cell: three roles that execute it, three that have sent it. */

static struct line {
    const struct protocol *protocol;
    uint8_t cell[GSN_TABLE];
} lines[PROTOCOLS_MAX + 1]; /* The last one is followed by an empty one. */

static struct line *line_of(const struct protocol *protocol)
{
    for (uint32_t i = 0; i < PROTOCOLS_MAX; i++) {
        if (lines[i].protocol != NULL && lines[i].protocol != protocol) continue;
        lines[i].protocol = protocol;
        return &lines[i];
    }
    fprintf(stderr, "more than %u protocols: PROTOCOLS_MAX in points_table.c\n", PROTOCOLS_MAX);
    exit(2);
}

void table_add(const struct protocol *protocol, const struct point *points, uint32_t count)
{
    struct line *line = line_of(protocol);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t roles = points[i].role & (ROLE_MASTER | ROLE_PARTICIPANT | ROLE_STARTING);
        if ((points[i].role & ROLE_SENDER) != 0) roles <<= SENT - 1u;
        line->cell[points[i].gsn] |= (uint8_t)roles;
    }
}

/* --- What must be there. --- */

/* Signals that data nodes send, but not to each other. */
static bool to_clients(uint32_t gsn)
{
    static const uint32_t ranges[][2] = {
        {GSN_API_REGREQ, GSN_API_REGREF},           {GSN_TCSEIZEREQ, GSN_TRANSID_AI},
        {GSN_SCAN_TABREQ, GSN_SCAN_NEXTREQ},        {GSN_CREATE_TABLE_REQ, GSN_ALTER_TABLE_REP},
        {GSN_EVENT_REP, GSN_LCP_STATUS_CONF},       {GSN_WAIT_DURABLE_REQ, GSN_WAIT_DURABLE_REF},
        {GSN_ARBIT_START_REQ, GSN_ARBIT_START_REQ}, {GSN_ARBIT_CHOOSE_REQ, GSN_ARBIT_CHOOSE_REQ},
        {GSN_TCKEY_FAILCONF, GSN_TCKEY_FAILREF},    {GSN_API_NODE_LOST_REP, GSN_TABLE_CHANGED_REP},
        {GSN_SINGLE_USER_REQ, GSN_SINGLE_USER_REF}, {GSN_ALLOC_NODEID_REQ, GSN_ALLOC_NODEID_REF},
        {GSN_EVENT_LOG_REQ, GSN_EVENT_LOG_CONF},    {GSN_THREAD_REPORT_REQ, GSN_THREAD_REPORT_CONF},
    };
    for (uint32_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (gsn >= ranges[i][0] && gsn <= ranges[i][1]) return true;
    }
    return false;
}

/* Only after other faults than the end of a process. Who reaches them stands next to each. */
static bool elsewhere(uint32_t gsn)
{
    switch (gsn) {
    case GSN_CM_HEARTBEAT: /* Left out as noise. */
    case GSN_PACE_ASK_REP: /* The same: nothing waits for them. */
    case GSN_PACE_ANSWER_REP:
    case GSN_PACE_ROW_REP:
    case GSN_PACE_SLOW_REP:     /* Deaths meanwhile: test_pace. */
    case GSN_CM_NODEINFOREF:    /* Words of a join that was given up: sim --rejoin. */
    case GSN_CNTR_START_REF:    /* Data of no use: test_restart, test_cntr_decide. */
    case GSN_GCP_STOP_ORD:      /* A disk that does not answer: sim --rejoin --disk. */
    case GSN_FAIL_REF:          /* Several leave at once, or links break: sim --rejoin. */
    case GSN_LQH_ORPHAN_REQ:    /* Records are short at the take-over: test_takeover. */
    case GSN_LQH_ORPHAN_CONF:   /* The same. */
    case GSN_COPY_FRAGREF:      /* Too many copies at once: test_copy. */
    case GSN_CNTR_SINGLE_REP:   /* Single user mode: sim --rejoin. */
    case GSN_ORDER_PREPARE_REF: /* A member stops, or single user mode begins: sim --rejoin. */
    case GSN_SCHEMA_BUILD_REP:  /* Builds of an index end too soon here: test_dict_alter. */
    case GSN_SCHEMA_CANCEL_ORD: /* The same. */
    case GSN_SCHEMA_WAITS_ORD:  /* Clients that are silent meanwhile: test_tc_unique_use. */
    case GSN_LOG_ENDS_REQ:      /* Only in a start of all nodes: sim --disk. */
    case GSN_LOG_ENDS_CONF:     /* The same. */
        return true;
    default:
        return false;
    }
}

static bool between_nodes(uint32_t gsn)
{
    switch (gsn) {
#define GSN(number, name, type, smin, smax, from, rule)                                            \
    case number:                                                                                   \
        return ((from)&FROM_DATA) != 0;
#define GSN_KERNEL(number, name, type, smin, smax, from, rule)
#include "signals/gsn.def"
#undef GSN
#undef GSN_KERNEL
    default:
        return false;
    }
}

static uint32_t cell_of_all(uint32_t gsn)
{
    uint32_t cell = 0;
    for (const struct line *line = lines; line->protocol != NULL; line++)
        cell |= line->cell[gsn];
    return cell;
}

/* --- The table. --- */

static void print_cell(FILE *file, const struct line *line, uint32_t bit, const char *title)
{
    uint32_t column = 0;
    for (uint32_t gsn = 1; gsn < GSN_TABLE; gsn++) {
        if ((line->cell[gsn] & bit) == 0) continue;
        const char *name = gsn_name(gsn);
        if (column == 0) column = (uint32_t)fprintf(file, "- %s:", title);
        if (column + strlen(name) + 2 > LINE_WORDS) column = (uint32_t)fprintf(file, "\n ") - 1u;
        column += (uint32_t)fprintf(file, " %s", name);
    }
    if (column > 0) fprintf(file, "\n");
}

static void print_line(FILE *file, const struct line *line)
{
    static const char *const titles[] = {
        "executed by the master, which dies", "by another started node, which dies",
        "by a node that starts, which dies",  "sent by the master, which dies",
        "sent by another node, which dies",   "sent by a node that starts, which dies",
    };
    const struct protocol *protocol = line->protocol;
    fprintf(file, "\n## %s\n\n%u nodes, %u replicas%s.", protocol->name, protocol->nodes,
            protocol->replicas, protocol->files ? ", with files" : "");
    if (protocol->first != 0) fprintf(file, " Node %u is dead already.", protocol->first);
    if (protocol->pairs)
        fprintf(file,
                "\nAfter each signal here%s a second node dies, after each signal of the "
                "take-over;\nthe roles are those of both.",
                protocol->of_master ? " at which the master dies" : "");
    fprintf(file, "\n\n");
    for (uint32_t bit = 0; bit < 6; bit++)
        print_cell(file, line, 1u << bit, titles[bit]);
}

static void write_table(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return;
    }
    fprintf(file,
            "# Points of failure\n\n"
            "Written by `SIM_FAILURE_TABLE=docs/failure_points.md scenario_failure_points`. For "
            "each protocol: the\nsignals after which a process ends, and in which role it is then. "
            "What is between data nodes and in none\nof the lists fails the test "
            "(`tests/sim/points_table.c`).\n");
    for (const struct line *line = lines; line->protocol != NULL; line++)
        print_line(file, line);
    fclose(file);
}

uint32_t table_end(void)
{
    const char *path = getenv("SIM_FAILURE_TABLE");
    uint32_t missing = 0;
    uint32_t covered = 0;
    for (uint32_t gsn = 1; gsn < GSN_TABLE; gsn++) {
        if (!between_nodes(gsn) || to_clients(gsn)) continue;
        uint32_t cell = cell_of_all(gsn);
        bool executed = (cell & ((1u << (SENT - 1u)) - 1u)) != 0;
        bool sent = cell >> (SENT - 1u) != 0;
        covered += executed && sent;
        if ((executed && sent) || elsewhere(gsn)) continue;
        missing++;
        printf("nobody dies after %s %s\n", executed ? "sending" : "executing", gsn_name(gsn));
    }
    printf("%u signals between data nodes are points of failure, %u are not\n", covered, missing);
    if (path != NULL) write_table(path);
    return missing;
}
