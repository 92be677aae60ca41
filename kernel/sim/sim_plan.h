/* sim_plan.h -- faults as a value: when which one happens. Drawn once from the seed, or read from a
 * file. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/*
 * Text form, one event per line, '#' begins a comment:
 *
 *   at 12.407 cut 1 2             seconds of virtual time
 *   before 3 LQHKEYREQ 1 cut 1 2  before node 1 executes its third LQHKEYREQ
 *
 * Actions:
 *   cut A B              the link between two nodes breaks
 *   stall A B MS         nothing arrives at B from A for so long
 *   slow NODE THREAD GAP_US MS   the thread rests after each round
 *   kill NODE            the process ends (a client, or a data node)
 *   start NODE           it begins a new life
 *   insert NODE BLOCK NUMBER EXTRA   arms an error insert (block: its number)
 *   power NODE MS        the power goes: what was not synced is lost, torn or garbage; NODE 0: of
 *                        all data nodes at one instant. They begin new lives within MS
 *   powerop NODE OP MS   the same of all, right after the node's OP-th file operation from now
 *   halt NODE MS         the process ends, its machine lives: what was written stays. NODE 0: all
 *   stop NODE MS         all data nodes are ordered to stop in good order, through NODE. They begin
 *                        new lives within MS, when the last one has stopped
 *   full NODE KB         its disk takes only so much more; 0 = no limit
 *   ioerror NODE OP SKIP COUNT   file operations (enum io_op) fail, COUNT after SKIP good ones
 *   rot NODE COUNT       so many bits flip in its files
 *   misdirect NODE       the next write of one of its files lands in another place
 *   lie NODE             from now on its disk confirms what it has not made durable
 *   diskstall NODE MS    no file operation is answered for so long
 *   leave NODE           the node is ordered to stop in good order; the others go on
 *   force NODE           the same by force: it is not asked whether the others can go on
 *   options NODE FLAGS MS   when it has ended: it begins again so much later, with 1: --initial,
 *                        2: --nostart
 *   single NODE          single user mode for this client is ordered; 0: its end
 *   pace NODE SLOW       the node is reported slow (1), or well again (0)
 *   hang NODE MS         the process does not run for so long, its links stay open
 *   starve NODE GAP_MS MS   it gets a processor only once in up to so long, which is reached by and
 *                        by; NODE 0: all data nodes, as if they shared a machine
 *   slownode NODE TIMES MS       each round of its threads takes so many times SIM_ROUND_US
 *   slowlink A B DELAY_MS KBPS MS   both ways: takes longer, lets so many KB pass a second
 *   keep NODE            its files are remembered as they are now
 *   spoil NODE HOW WHAT MS   all data nodes end as with halt, and before they begin again within MS
 *                        some of its files (WHAT: sim_disk_spoil.c) are removed (HOW 0), emptied
 *                        (1), cut (2), those of its last keep (3) or of its neighbour (4)
 *                        MS 0: the node ends alone
 *   lull MS              the clients begin nothing new for so long
 */
enum sim_action {
    SIM_CUT = 1,
    SIM_STALL,
    SIM_SLOW,
    SIM_KILL,
    SIM_START,
    SIM_INSERT,
    SIM_POWER,
    SIM_POWER_OP,
    SIM_HALT,
    SIM_DISK_FULL,
    SIM_DISK_ERROR,
    SIM_DISK_ROT,
    SIM_DISK_MISDIRECT,
    SIM_DISK_STALL,
    SIM_DISK_LIE,
    SIM_STOP,
    SIM_HANG,
    SIM_LEAVE,
    SIM_SINGLE,
    SIM_PACE,
    SIM_SLOW_NODE,
    SIM_SLOW_LINK,
    SIM_FORCE,
    SIM_OPTIONS,
    SIM_KEEP,
    SIM_SPOIL,
    SIM_STARVE,
    SIM_LULL,
    SIM_ACTION_COUNT
};

#define SIM_ARGS       5u
#define SIM_EVENTS_MAX 128u

struct sim_event {
    uint64_t at_us; /* Time of the event, when gsn is 0. */
    uint32_t gsn;
    uint32_t node; /* Node that executes the signal. */
    uint32_t nth;  /* Which of these signals; from 1. */
    enum sim_action action;
    uint32_t arg[SIM_ARGS];
};

struct sim_plan {
    uint32_t count;
    struct sim_event event[SIM_EVENTS_MAX];
};

/* Adds an event by time; the rest of the fields is the caller's to fill in. NULL when the plan is
 * full. */
struct sim_event *sim_plan_at(struct sim_plan *plan, uint64_t at_us, enum sim_action action);

/* One line of text for an event. Returns its length. */
uint32_t sim_event_print(const struct sim_event *event, const char *(*gsn_name)(uint32_t),
                         char *text, uint32_t size);

/* Reads one line. False when it is malformed; an empty line or comment gives action 0. */
bool sim_event_parse(struct sim_event *event, const char *(*gsn_name)(uint32_t), const char *line);
