/* event_text.c -- the table of events, and their texts. */
/* SPDX-License-Identifier: MIT
 *
 * Types, categories, thresholds and severities are the field's. The meaning of each event's words
 * stands beside its case below.
 */
#include "signals/event_text.h"

#include <stdio.h>

#include "signals/arbit.h"
#include "values/errors.h"
#include "signals/event_report.h"

#define C(name) NDB_MGM_CATEGORY_##name
#define S(name) NDB_MGM_SEVERITY_##name

static const struct event_kind kinds[] = {
    {EVENT_INFO, "InfoEvent", C(INFO), 2, S(INFO)}, /* First: stands for unknown types too. */
    {EVENT_CONNECTED, "Connected", C(CONNECTION), 8, S(INFO)},
    {EVENT_DISCONNECTED, "Disconnected", C(CONNECTION), 8, S(ALERT)},
    {EVENT_COMMUNICATION_CLOSED, "CommunicationClosed", C(CONNECTION), 8, S(INFO)},
    {EVENT_COMMUNICATION_OPENED, "CommunicationOpened", C(CONNECTION), 8, S(INFO)},
    {EVENT_CONNECTED_API_VERSION, "ConnectedApiVersion", C(CONNECTION), 8, S(INFO)},
    {EVENT_GLOBAL_CHECKPOINT_STARTED, "GlobalCheckpointStarted", C(CHECKPOINT), 9, S(INFO)},
    {EVENT_GLOBAL_CHECKPOINT_COMPLETED, "GlobalCheckpointCompleted", C(CHECKPOINT), 10, S(INFO)},
    {EVENT_LOCAL_CHECKPOINT_STARTED, "LocalCheckpointStarted", C(CHECKPOINT), 7, S(INFO)},
    {EVENT_LOCAL_CHECKPOINT_COMPLETED, "LocalCheckpointCompleted", C(CHECKPOINT), 7, S(INFO)},
    {EVENT_LOCAL_CHECKPOINT_FAILED, "LocalCheckpointFailed", C(CHECKPOINT), 2, S(WARNING)},
    {EVENT_START_STARTED, "NDBStartStarted", C(STARTUP), 1, S(INFO)},
    {EVENT_START_COMPLETED, "NDBStartCompleted", C(STARTUP), 1, S(INFO)},
    {EVENT_START_PHASE_COMPLETED, "StartPhaseCompleted", C(STARTUP), 4, S(INFO)},
    {EVENT_CM_REGCONF, "CM_REGCONF", C(STARTUP), 3, S(INFO)},
    {EVENT_CM_REGREF, "CM_REGREF", C(STARTUP), 8, S(INFO)},
    {EVENT_FIND_NEIGHBOURS, "FIND_NEIGHBOURS", C(STARTUP), 8, S(INFO)},
    {EVENT_STOP_STARTED, "NDBStopStarted", C(STARTUP), 1, S(INFO)},
    {EVENT_STOP_COMPLETED, "NDBStopCompleted", C(STARTUP), 1, S(INFO)},
    {EVENT_STOP_FORCED, "NDBStopForced", C(STARTUP), 1, S(ALERT)},
    {EVENT_START_REPORT, "StartReport", C(STARTUP), 4, S(INFO)},
    {EVENT_NODE_FAILREP, "NODE_FAILREP", C(NODERESTART), 8, S(ALERT)},
    {EVENT_ARBIT_STATE, "ArbitState", C(NODERESTART), 6, S(INFO)},
    {EVENT_ARBIT_RESULT, "ArbitResult", C(NODERESTART), 2, S(ALERT)},
    {EVENT_TRANS_REPORT_COUNTERS, "TransReportCounters", C(STATISTICS), 8, S(INFO)},
    {EVENT_OPERATION_REPORT_COUNTERS, "OperationReportCounters", C(STATISTICS), 8, S(INFO)},
    {EVENT_TABLE_CREATED, "TableCreated", C(STATISTICS), 7, S(INFO)},
    {EVENT_MEMORY_USAGE, "MemoryUsage", C(STATISTICS), 5, S(INFO)},
    {EVENT_CREATE_SCHEMA_OBJECT, "CreateSchemaObject", C(SCHEMA), 8, S(INFO)},
    {EVENT_ALTER_SCHEMA_OBJECT, "AlterSchemaObject", C(SCHEMA), 8, S(INFO)},
    {EVENT_DROP_SCHEMA_OBJECT, "DropSchemaObject", C(SCHEMA), 8, S(INFO)},
    {EVENT_MISSED_HEARTBEAT, "MissedHeartbeat", C(ERROR), 8, S(WARNING)},
    {EVENT_DEAD_DUE_TO_HEARTBEAT, "DeadDueToHeartbeat", C(ERROR), 8, S(ALERT)},
    {EVENT_WARNING, "WarningEvent", C(ERROR), 2, S(WARNING)},
    {EVENT_SENT_HEARTBEAT, "SentHeartbeat", C(INFO), 12, S(INFO)},
    {EVENT_SINGLE_USER, "SingleUser", C(INFO), 7, S(INFO)},
    {EVENT_REPLICA_ORDER, "ReplicaOrder", C(NODERESTART), 7, S(INFO)},
};

const struct event_kind *event_kind(uint32_t type)
{
    for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].type == type) return &kinds[i];
    }
    return &kinds[0];
}

static const char *start_type_text(uint32_t type)
{
    static const char *const texts[] = {"initial start", "system restart", "node restart",
                                        "initial node restart"};

    return type < 4 ? texts[type] : "unknown start type";
}

static const char *start_report_text(uint32_t type)
{
    switch (type) {
    case 1:
        return "Initial start, waiting for all nodes to connect";
    case 2:
        return "Waiting until nodes connect";
    case 3:
        return "Waiting before starting without the missing nodes";
    case 0x8000:
        return "Initial start with nodes";
    case 0x8001:
        return "Start with all nodes";
    case 0x8002:
        return "Start with some of the nodes";
    default:
        return "Start report";
    }
}

static void format_memory(const uint32_t data[EVENT_WORDS], char *line, size_t size)
{
    /* gth (1 up, -1 down, 0 report), page KB, page bytes, used, total, block (DBACC: index). */
    const char *what = data[5] == BLOCK_DBACC ? "Index" : "Data";
    const char *verb = data[0] == 0 ? "is" : data[0] == 1 ? "increased to" : "decreased to";
    uint64_t percent = data[4] == 0 ? 0 : (uint64_t)data[3] * 100 / data[4];

    (void)snprintf(line, size, "%s usage %s %u%%(%u %uK pages of total %u)", what, verb,
                   (unsigned)percent, data[3], data[1], data[4]);
}

/* Checkpoint, fragments that keep their former one, node, error; 0: only the list of them is bad.
 */
static void format_checkpoint_failed(const uint32_t data[EVENT_WORDS], char *line, size_t size)
{
    char what[80] = "the list of its fragments could not be written";

    if (data[3] != 0)
        (void)snprintf(what, sizeof(what), "%u fragments, error %u%s", data[1], data[3],
                       data[3] == ERR_DISK_FULL ? " (disk full)" : "");
    (void)snprintf(line, size, "Local checkpoint %u failed at node %u: %s; its redo log fills up",
                   data[0], data[2], what);
}

static void format_version(const char *what, uint32_t version, char *line, size_t size)
{
    (void)snprintf(line, size, "%s (version %u.%u.%u)", what, version >> 16 & 255,
                   version >> 8 & 255, version & 255);
}

static void format_stop(uint32_t type, const uint32_t data[EVENT_WORDS], const char *text,
                        char *line, size_t size)
{
    /* action bits (1 restart, 2 no start, 4 initial), signal, error, start phase. */
    const char *restart = data[0] & 1 ? ", restarting" : "";
    const char *nostart = data[0] & 2 ? ", no start" : "";
    const char *initial = data[0] & 4 ? ", initial" : "";

    if (type == EVENT_STOP_COMPLETED) {
        (void)snprintf(line, size, "Node shutdown completed%s%s%s.", restart, nostart, initial);
        return;
    }
    char phase[48] = "";
    char number[48] = "";
    if (data[3] != 255) {
        (void)snprintf(phase, sizeof(phase), " Occured during startphase %u.", data[3]);
    }
    if (data[1] != 0) (void)snprintf(number, sizeof(number), " Initiated by signal %u.", data[1]);
    (void)snprintf(line, size, "Forced node shutdown completed%s%s%s.%s%s Caused by error %u%s%s.",
                   restart, nostart, initial, phase, number, data[2], text[0] == '\0' ? "" : ": ",
                   text);
}

static void format_single_user(const uint32_t *data, char *line, size_t size)
{
    if (data[0] == 1)
        (void)snprintf(line, size, "Entered single user mode, Node %u has access", data[1]);
    else
        (void)snprintf(line, size, "%s single user mode", data[0] == 0 ? "Entering" : "Exiting");
}

static void format_arbitration(const uint32_t *data, char *line, size_t size)
{
    const char *text = "Arbitration";

    switch ((enum arbit_code)data[0]) {
    case ARBIT_LOSE_NODES:
        text = "Arbitration check lost - less than 1/2 nodes left";
        break;
    case ARBIT_WIN_NODES:
        text = "Arbitration check won - all node groups and more than 1/2 nodes left";
        break;
    case ARBIT_WIN_GROUPS:
        text = "Arbitration check won - node group majority";
        break;
    case ARBIT_LOSE_GROUPS:
        text = "Arbitration check lost - missing node group";
        break;
    case ARBIT_PARTITIONING:
        text = "Network partitioning - arbitration required";
        break;
    case ARBIT_WIN_CHOOSE:
        (void)snprintf(line, size, "Arbitration won - positive reply from node %u", data[1]);
        return;
    case ARBIT_LOSE_CHOOSE:
        (void)snprintf(line, size, "Arbitration lost - negative reply from node %u", data[1]);
        return;
    case ARBIT_LOSE_NORUN:
        text = "Network partitioning - no arbitrator available";
        break;
    case ARBIT_LOSE_NOCFG:
        text = "Network partitioning - no arbitrator configured";
        break;
    case ARBIT_WIN_WAIT:
        text = "Continuing after wait for external arbitration";
        break;
    case ARBIT_NO_CODE:
    case ARBIT_API_START:
    case ARBIT_API_FAIL:
        break;
    }
    (void)snprintf(line, size, "%s", text);
}

void event_format(uint32_t type, const uint32_t data[EVENT_WORDS], const char *text, char *line,
                  size_t size)
{
    switch (type) {
    case EVENT_CONNECTED:
        (void)snprintf(line, size, "Node %u Connected", data[0]);
        return;
    case EVENT_DISCONNECTED:
        (void)snprintf(line, size, "Node %u Disconnected", data[0]);
        return;
    case EVENT_COMMUNICATION_CLOSED:
        (void)snprintf(line, size, "Communication to Node %u closed", data[0]);
        return;
    case EVENT_COMMUNICATION_OPENED:
        (void)snprintf(line, size, "Communication to Node %u opened", data[0]);
        return;
    case EVENT_CONNECTED_API_VERSION:
        (void)snprintf(line, size, "Node %u: API ndb-%u.%u.%u", data[0], data[1] >> 16 & 255,
                       data[1] >> 8 & 255, data[1] & 255);
        return;
    case EVENT_GLOBAL_CHECKPOINT_STARTED:
        (void)snprintf(line, size, "Global checkpoint %u started", data[0]);
        return;
    case EVENT_GLOBAL_CHECKPOINT_COMPLETED:
        (void)snprintf(line, size, "Global checkpoint %u completed", data[0]);
        return;
    case EVENT_LOCAL_CHECKPOINT_STARTED:
        (void)snprintf(line, size,
                       "Local checkpoint %u started. Keep GCI = %u oldest restorable GCI = %u",
                       data[0], data[1], data[2]);
        return;
    case EVENT_LOCAL_CHECKPOINT_COMPLETED:
        (void)snprintf(line, size, "Local checkpoint %u completed", data[0]);
        if (data[1] != 0)
            (void)snprintf(line, size, "Local checkpoint %u completed, but for %u fragments",
                           data[0], data[1]);
        return;
    case EVENT_LOCAL_CHECKPOINT_FAILED:
        format_checkpoint_failed(data, line, size);
        return;
    case EVENT_START_STARTED:
        format_version("Start initiated", data[0], line, size);
        return;
    case EVENT_START_COMPLETED:
        format_version("Started", data[0], line, size);
        return;
    case EVENT_START_PHASE_COMPLETED:
        (void)snprintf(line, size, "Start phase %u completed (%s)", data[0],
                       start_type_text(data[1]));
        return;
    case EVENT_CM_REGCONF:
        (void)snprintf(line, size, "CM_REGCONF president = %u, own Node = %u, our dynamic id = %u",
                       data[1], data[0], data[2] & 0xFFFF);
        return;
    case EVENT_CM_REGREF:
        (void)snprintf(line, size, "CM_REGREF from Node %u to our Node %u. Cause = %u", data[1],
                       data[0], data[2]);
        return;
    case EVENT_FIND_NEIGHBOURS:
        (void)snprintf(line, size,
                       "We are Node %u with dynamic ID %u, our left neighbor is Node %u, "
                       "our right is Node %u",
                       data[0], data[3], data[1], data[2]);
        return;
    case EVENT_STOP_STARTED:
        (void)snprintf(line, size, "%s shutdown initiated", data[0] == 1 ? "Cluster" : "Node");
        return;
    case EVENT_STOP_COMPLETED:
    case EVENT_STOP_FORCED:
        format_stop(type, data, text, line, size);
        return;
    case EVENT_START_REPORT:
        (void)snprintf(line, size, "%s", start_report_text(data[0]));
        return;
    case EVENT_ARBIT_STATE:
        (void)snprintf(line, size, "%s arbitrator node %u [ticket=%08x%08x]",
                       data[0] == ARBIT_API_START ? "Started" : "Lost", data[1], data[2], data[3]);
        return;
    case EVENT_ARBIT_RESULT:
        format_arbitration(data, line, size);
        return;
    case EVENT_NODE_FAILREP:
        (void)snprintf(line, size, "Node %u has failed. The Node state at failure was %u", data[0],
                       data[1]);
        return;
    case EVENT_TRANS_REPORT_COUNTERS:
        (void)snprintf(line, size,
                       "Trans. Count = %u, Commit Count = %u, Read Count = %u, Simple Read "
                       "Count = %u, Write Count = %u, AttrInfo Count = %u, Concurrent "
                       "Operations = %u, Abort Count = %u, Scans = %u, Range scans = %u",
                       data[0], data[1], data[2], data[3], data[4], data[5], data[6], data[7],
                       data[8], data[9]);
        return;
    case EVENT_OPERATION_REPORT_COUNTERS:
        (void)snprintf(line, size, "Operations=%u", data[0]);
        return;
    case EVENT_TABLE_CREATED:
        (void)snprintf(line, size, "Table with ID = %u created", data[0]);
        return;
    case EVENT_MEMORY_USAGE:
        format_memory(data, line, size);
        return;
    case EVENT_CREATE_SCHEMA_OBJECT:
    case EVENT_ALTER_SCHEMA_OBJECT:
    case EVENT_DROP_SCHEMA_OBJECT:
        (void)snprintf(line, size, "%s schema objectid %u version %u (node %u)",
                       type == EVENT_CREATE_SCHEMA_OBJECT  ? "Created"
                       : type == EVENT_ALTER_SCHEMA_OBJECT ? "Altered"
                                                           : "Dropped",
                       data[0], data[1], data[3]);
        return;
    case EVENT_MISSED_HEARTBEAT:
        (void)snprintf(line, size, "Node %u missed heartbeat %u", data[0], data[1]);
        return;
    case EVENT_DEAD_DUE_TO_HEARTBEAT:
        (void)snprintf(line, size, "Node %u declared dead due to missed heartbeat", data[0]);
        return;
    case EVENT_SENT_HEARTBEAT:
        (void)snprintf(line, size, "Node Sent Heartbeat to node = %u", data[0]);
        return;
    case EVENT_REPLICA_ORDER:
        (void)snprintf(line, size,
                       data[1] != 0 ? "Node %u is slow: it is the last of its node group now"
                                    : "Node %u has its primaries back",
                       data[0]);
        return;
    case EVENT_SINGLE_USER:
        format_single_user(data, line, size);
        return;
    case EVENT_INFO:
    case EVENT_WARNING:
        (void)snprintf(line, size, "%s", text);
        return;
    default:
        (void)snprintf(line, size, "Event %u: %u %u %u %u", type, data[0], data[1], data[2],
                       data[3]);
        return;
    }
}
