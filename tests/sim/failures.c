/* failures.c -- data nodes are lost while the cluster goes on: which losses it has to survive,
 * which nodes may end, who begins again, and what is counted. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/failures.h"
#include <stdio.h>
#include <string.h>
#include "blocks/ndbcntr/cntr_state.h"
#include "blocks/qmgr/partition_rule.h"
#include "blocks/qmgr/qmgr_state.h"
#include "kernel/base/u64.h"
#include "signals/cntr.h"
#include "signals/failure.h"

/* Some of the others do not know yet that it is started; its end takes 100 ms. */
#define YOUNG_US   150000u
#define STALLED_US 300000u   /* Longer where links stall: swarm.c. */
#define DISK_US    20000000u /* A fault of its disk is felt that long. */
#define SLOWED_US  1000000u  /* What a slow node has delayed is done after so long. */
#define GONE_US    10000000u /* Who may have to leave has left, or stays, after so long. */

static struct failure_figures *figures_of(struct run *run)
{
    static struct failure_figures none;
    return run->failures.figures != NULL ? run->failures.figures : &none;
}

static void count(uint64_t *figure)
{
    __atomic_fetch_add(figure, 1, __ATOMIC_RELAXED);
}

static const struct cntr *cntr_of_node(struct run *run, uint32_t id)
{
    struct node *node = sim_node(run->world, id);
    return node == NULL ? NULL
                        : (const struct cntr *)(const void *)node_block(node, BLOCK_NDBCNTR, 0);
}

bool failures_started(struct run *run, uint32_t id)
{
    const struct cntr *cntr = cntr_of_node(run, id);
    return cntr != NULL && cntr->level == START_STARTED;
}

static uint32_t index_of(const struct run *run, uint32_t id)
{
    return (id - run->swarm.id_first) / run->swarm.id_step;
}

bool failures_stays(struct run *run, uint32_t id)
{
    return failures_started(run, id) &&
           run->failures.doomed_until[index_of(run, id)] <= sim_now_us(run->world);
}

static bool is_data(uint32_t id)
{
    return id < CLIENT_NODE;
}

/* --- Which losses the cluster has to survive. --- */

/* The president prepares nothing: what it has said may be on its way. */
static bool prepared(struct run *run, uint32_t member)
{
    const struct qmgr *qmgr =
        (const struct qmgr *)(const void *)node_block(sim_node(run->world, member), BLOCK_QMGR, 0);
    struct node *president = sim_node(run->world, qmgr->join.president);
    if (president == NULL) return false;
    qmgr = (const struct qmgr *)(const void *)node_block(president, BLOCK_QMGR, 0);
    return qmgr->arbit.state == ARBIT_RUN;
}

/* All members have the same arbitrator and ticket, and it lives. */
static bool arbitrated(struct run *run, const struct node_mask *alive)
{
    uint32_t arbitrator = 0;
    const uint32_t *ticket = NULL;
    if (run->swarm.config.arbitration != ARBITRATION_DEFAULT) return true;
    if ((run->swarm.faults & (FAULT_CUT | FAULT_KILL | FAULT_STALL)) != 0) return false;
    for (uint32_t id = node_mask_next(alive, 0); id != 0; id = node_mask_next(alive, id)) {
        const struct qmgr *qmgr =
            (const struct qmgr *)(const void *)node_block(sim_node(run->world, id), BLOCK_QMGR, 0);
        if (qmgr->arbit.node == 0) return false;
        if (arbitrator != 0 &&
            (arbitrator != qmgr->arbit.node || ticket[0] != qmgr->arbit.ticket[0]))
            return false;
        if (arbitrator == 0 && !prepared(run, id)) return false;
        arbitrator = qmgr->arbit.node;
        ticket = qmgr->arbit.ticket;
        if (!sim_linked(run->world, id, arbitrator)) return false;
    }
    return arbitrator != 0;
}

/* Can those go on that are left when all that are doomed, and these, are lost at this moment? */
static bool survivable(struct run *run, const struct node_mask *victims, bool *halves)
{
    struct node_mask before = {0};
    struct node_mask alive = {0};
    uint64_t now = sim_now_us(run->world);
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        const struct cntr *cntr = cntr_of_node(run, id);
        if (cntr == NULL || cntr->level != START_STARTED) continue;
        node_mask_join(&before, &cntr->started);
        if (run->failures.doomed_until[i] <= now && !node_mask_has(victims, id))
            node_mask_add(&alive, id);
    }
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) { /* Not yet started in all eyes. */
        uint32_t id = data_node_id(run, i);
        const struct cntr *cntr = cntr_of_node(run, id);
        if (cntr == NULL || cntr->level != START_STARTED) continue;
        const struct qmgr *qmgr =
            (const struct qmgr *)(const void *)node_block(sim_node(run->world, id), BLOCK_QMGR, 0);
        node_mask_keep(&alive, &cntr->started);
        node_mask_cut(&alive, &qmgr->rejoin.newcomers);
    }
    enum arbit_code code = partition_rule(&run->swarm.config, &before, &alive);
    if (code == ARBIT_PARTITIONING) *halves = true;
    if (code == ARBIT_PARTITIONING) return arbitrated(run, &alive);
    return code == ARBIT_WIN_GROUPS || code == ARBIT_WIN_NODES;
}

static bool one_survivable(struct run *run, uint32_t id, bool *halves)
{
    struct node_mask victims = {0};
    node_mask_add(&victims, id);
    return survivable(run, &victims, halves);
}

static void doom(struct run *run, uint32_t id, uint64_t us)
{
    uint64_t *until = &run->failures.doomed_until[index_of(run, id)];
    uint64_t then = sim_now_us(run->world) + us + GONE_US;
    if (then > *until) *until = then;
}

bool failures_hostile(struct run *run, uint32_t id)
{
    bool halves = false;
    if (!run->failures.begun || run->failures.lives[index_of(run, id)] > 0 ||
        !failures_started(run, id) || !one_survivable(run, id, &halves))
        return false;
    doom(run, id, 0);
    return true;
}

static void disturb(struct run *run, uint32_t id)
{
    uint64_t until = run->failures.doomed_until[index_of(run, id)];
    if (until > run->failures.disturbed_until) run->failures.disturbed_until = until;
}

/* Who is left will be half of the cluster and will ask the arbitrator. It may find none when that
 * is being handed over at the moment, or when both halves woke up late: the cluster stops, in
 * order. */
static void excuse(struct run *run, uint64_t us)
{
    uint64_t then = sim_now_us(run->world) + us + GONE_US;
    if (then > run->failures.excused_until) run->failures.excused_until = then;
}

/* Each of them may be the one that has to leave. */
static bool either_survivable(struct run *run, uint32_t a, uint32_t b, uint64_t us)
{
    bool halves = false;
    if (!sim_linked(run->world, a, b) || !one_survivable(run, a, &halves) ||
        !one_survivable(run, b, &halves))
        return false;
    if (halves) excuse(run, us);
    doom(run, a, us);
    doom(run, b, us);
    return true;
}

/* It may end the node, now or when it comes back. */
static bool disk_fault(const struct run *run, const struct sim_event *event)
{
    return run->swarm.disk && (event->action == SIM_DISK_FULL || event->action == SIM_DISK_ERROR ||
                               event->action == SIM_DISK_STALL);
}

/* Steps of this length may take a member past the patience of the others. */
static bool may_kill(const struct run *run, uint64_t step_us)
{
    return 8u * step_us >= run->swarm.config.heartbeat_db_db_ms * 1000u;
}

static bool slow_allowed(struct run *run, const struct sim_event *event)
{
    const uint32_t *arg = event->arg;
    struct failure_figures *figures = figures_of(run);
    bool halves = false;
    if (event->action == SIM_SLOW_LINK) {
        /* Behind all that waits for the link. */
        if (!either_survivable(run, arg[0], arg[1], arg[4] * 1000u)) return false;
        disturb(run, arg[0]);
        pace_disturbed(run, arg[4] * 1000u);
        count(&figures->slow_links);
        return true;
    }
    bool kills = may_kill(run, (uint64_t)arg[1] * SIM_ROUND_US);
    if (kills && !one_survivable(run, arg[0], &halves)) return false;
    if (!pace_slow_node(run, event)) return false;
    if (kills) doom(run, arg[0], arg[2] * 1000u);
    if (halves) excuse(run, arg[2] * 1000u);
    uint64_t until = sim_now_us(run->world) + arg[2] * 1000u + SLOWED_US;
    if (until > run->failures.disturbed_until) run->failures.disturbed_until = until;
    return true;
}

/* An event of the plan happens only when the cluster has to survive it. */
bool failures_allowed(struct run *run, const struct sim_event *event)
{
    struct failure_figures *figures = figures_of(run);
    const uint32_t *arg = event->arg;
    uint64_t *figure = NULL;
    bool good = true;
    bool halves = false;
    bool both = is_data(arg[0]) && is_data(arg[1]);
    bool disk = disk_fault(run, event);
    if (disk && event->action == SIM_DISK_FULL && arg[1] == 0) return true; /* There is room. */
    if (event->action == SIM_OPTIONS || event->action == SIM_LULL) return true;
    if (run->durability.down) /* All are on their way back. */
        return !is_data(arg[0]) || (run->swarm.operated && arg[0] == 0);
    if (event->action == SIM_KEEP || event->action == SIM_SPOIL)
        return spoil_allowed(run, event) &&
               (event->action == SIM_KEEP || arg[3] != 0 || one_survivable(run, arg[0], &halves));
    if (event->action == SIM_KILL && is_data(arg[0])) {
        good = sim_alive(run->world, arg[0]) && one_survivable(run, arg[0], &halves);
        figure = &figures->kills;
    } else if (event->action == SIM_LEAVE || event->action == SIM_FORCE) {
        good = failures_started(run, arg[0]) && one_survivable(run, arg[0], &halves);
        if (good) doom(run, arg[0], 0); /* Its group's next one may not be lost meanwhile. */
        figure = &figures->leaves;
    } else if (disk) {
        good = sim_alive(run->world, arg[0]) && one_survivable(run, arg[0], &halves);
        if (good) doom(run, arg[0], DISK_US);
        figure = &figures->disks;
    } else if (event->action == SIM_HANG) {
        good = sim_alive(run->world, arg[0]) && one_survivable(run, arg[0], &halves);
        if (good) doom(run, arg[0], arg[1] * 1000u);
        if (good && halves) excuse(run, arg[1] * 1000u);
        figure = &figures->hangs;
    } else if (event->action == SIM_CUT && both) {
        good = either_survivable(run, arg[0], arg[1], 0);
        figure = &figures->cuts;
    } else if (event->action == SIM_STALL && both &&
               arg[2] >= run->swarm.config.heartbeat_db_db_ms / 2) {
        good = either_survivable(run, arg[0], arg[1], arg[2] * 1000u);
        figure = &figures->stalls;
    }
    if (event->action == SIM_SLOW_NODE || event->action == SIM_SLOW_LINK)
        return slow_allowed(run, event);
    if (event->action == SIM_STARVE) starve_begins(run, event);
    if (event->action == SIM_SLOW && is_data(arg[0])) pace_blame(run, arg[0], arg[3] * 1000u);
    if (event->action == SIM_HANG && good) pace_blame(run, arg[0], arg[1] * 1000u);
    if (good && figure != NULL)
        pace_disturbed(run, event->action == SIM_HANG ? arg[1] * 1000u : GONE_US);
    if (figure != NULL) count(good ? figure : &figures->left_out);
    if (figure == NULL || !good) return good;
    if (event->action == SIM_LEAVE || event->action == SIM_FORCE || disk) return good;
    if (event->action != SIM_KILL) disturb(run, arg[0]);
    recovery_fault(run, arg[0], event->action);
    if (event->action == SIM_CUT || event->action == SIM_STALL)
        recovery_fault(run, arg[1], event->action);
    return good;
}

/*
 * Others hang, or have just woken up. A healthy node may have to leave with them: some that do not
 * know that it is started, or whose silence was long, have a word in it. That is safe, and it comes
 * back, but it is needless: it is counted, and must stay rare (failures_rare()).
 */
static bool others_doomed(const struct run *run, uint32_t i)
{
    for (uint32_t j = 0; j < run->swarm.data_nodes; j++) {
        if (j != i && run->failures.doomed_until[j] > sim_now_us(run->world)) return true;
    }
    return false;
}

/* It is started, but somebody has not confirmed yet to count it: it leaves with whoever is lost. */
static bool uncounted(const struct run *run, uint32_t id)
{
    const struct qmgr *qmgr =
        (const struct qmgr *)(const void *)node_block(sim_node(run->world, id), BLOCK_QMGR, 0);
    return node_mask_has(&qmgr->rejoin.newcomers, id);
}

/* A data node stops by itself: is there a reason? */
bool failures_announced(struct run *run, uint32_t id, uint32_t code)
{
    uint32_t i = index_of(run, id);
    bool started = run->failures.started_us[i] != 0; /* Its level says already that it stops. */
    uint64_t now = sim_now_us(run->world);
    bool stalls = (run->swarm.faults & (FAULT_STALL | FAULT_SLOW | FAULT_NODE_CUT)) != 0;
    bool young =
        started && now - run->failures.started_us[i] < YOUNG_US + (stalls ? STALLED_US : 0);
    bool doomed = run->failures.doomed_until[i] > now || run->failures.excused_until > now ||
                  run->durability.down;
    bool good = operator_refused(run, id, code);
    if (good) return true;
    if (run->tamper.hostile != 0 && run->tamper.done > 0) return tamper_announced(run, id, code);
    if (code == EXIT_ARBIT_SHUTDOWN || code == EXIT_DECLARED_DEAD) good = doomed || !started;
    if (code == EXIT_OTHER_NODE_FAILED)
        good = (doomed || !started || young) && run->failures.lives[i] > 0;
    if (code == EXIT_SYSTEM_ERROR) good = doomed;
    if (!good && lives_disk_code(run, code)) {
        count(&figures_of(run)->disk_exits);
        if (code == EXIT_DATA_GIVEN_UP) count(&figures_of(run)->given_up);
        return true;
    }
    if (!good && !run->swarm.starved &&
        (code == EXIT_OTHER_NODE_FAILED || code == EXIT_DECLARED_DEAD) &&
        (others_doomed(run, i) || uncounted(run, id))) {
        count(&figures_of(run)->needless);
        good = true;
    }
    if (!good) return false;
    if (code == EXIT_OTHER_NODE_FAILED)
        count(&figures_of(run)->starts_again);
    else
        count(&figures_of(run)->fenced);
    return true;
}

/* --- Several come back at once. --- */

/* Some that joined later are in the chains, others that joined earlier are not. */
static bool overtaken(struct run *run, uint32_t id)
{
    const struct cntr *cntr = cntr_of_node(run, id);
    uint32_t newest = 0;
    if (cntr == NULL || cntr->president != id) return false;
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (node_mask_has(&cntr->rejoin.included, node) && cntr->rejoin.rank[node] > newest)
            newest = cntr->rejoin.rank[node];
    }
    for (uint32_t node = 1; node <= DATA_NODE_ID_MAX; node++) {
        if (node_mask_has(&cntr->rejoin.joined, node) && cntr->rejoin.rank[node] < newest &&
            !node_mask_has(&cntr->rejoin.included, node))
            return true;
    }
    return false;
}

/* It takes part, or is about to, and is not started. */
static bool on_its_way(struct run *run, uint32_t id)
{
    const struct cntr *cntr = cntr_of_node(run, id);
    return cntr != NULL && cntr->rejoin.running != 0 && cntr->rejoin.ready != READY_NOT &&
           cntr->level < START_STARTED;
}

static void watch_together(struct run *run)
{
    uint32_t several = 0;
    bool now = false;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++)
        several += on_its_way(run, data_node_id(run, i));
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++)
        now = now || overtaken(run, data_node_id(run, i));
    if (now && !run->failures.overtaken) count(&figures_of(run)->overtaken);
    run->failures.overtaken = now;
    for (uint32_t i = 0; several > 1 && i < run->swarm.data_nodes; i++) {
        if (on_its_way(run, data_node_id(run, i))) run->failures.together[i] = true;
    }
}

/* --- What the returns have copied. --- */

static void add(uint64_t *figure, uint32_t low, uint32_t high)
{
    __atomic_fetch_add(figure, u64_of(low, high), __ATOMIC_RELAXED);
}

void failures_observe(struct run *run, const uint32_t *words)
{
    struct failure_figures *figures = figures_of(run);
    if (kind_gsn(words[0]) != GSN_COPY_START_CONF) return;
    const struct cntr *cntr = cntr_of_node(run, ref_node(words[1]));
    const struct copy_rows *rows =
        &((const struct copy_start_conf *)(const void *)(words + SIGNAL_HEAD_WORDS))->rows;
    bool own = cntr != NULL && cntr_has_own_rows(cntr);
    count(own ? &figures->deltas : &figures->fulls);
    add(own ? &figures->copied : &figures->copied_full, rows->copied_lo, rows->copied_hi);
    add(&figures->own, rows->own_lo, rows->own_hi);
    add(&figures->kept, rows->kept_lo, rows->kept_hi);
    add(&figures->removed, rows->removed_lo, rows->removed_hi);
}

/* --- Lives. --- */

/* A new life begins within this time. */
#define AGAIN_US 400000u

static void count_rejoin(struct run *run, uint32_t i)
{
    struct failures *f = &run->failures;
    struct failure_figures *figures = figures_of(run);
    count(&figures->rejoins);
    if (f->together[i]) count(&figures->together);
    f->together[i] = false;
}

void failures_watch(struct run *run)
{
    struct failures *f = &run->failures;
    uint64_t now = sim_now_us(run->world);
    uint32_t started = 0;
    if (!f->begun) return;
    single_watch(run);
    order_watch(run);
    pace_watch(run);
    watch_together(run);
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        if (sim_alive(run->world, id)) {
            bool up = failures_started(run, id);
            operator_watch(run, i, up);
            started += up;
            if (up && f->started_us[i] == 0) {
                f->started_us[i] = now;
                sim_config(run->world, id)->stand_aside = 0;
                if (f->lives[i] > 0) count_rejoin(run, i);
                recovery_back(run, id);
            }
            continue;
        }
        if (f->start_us[i] == 0) {
            count(&figures_of(run)->losses);
            if (f->started_us[i] == 0) count(&figures_of(run)->losses_starting);
            f->losses++;
            if (f->together[i]) count(&figures_of(run)->together_lost);
            f->together[i] = false;
            f->doomed_until[i] = f->started_us[i] = 0;
            recovery_ended(run, i);
            f->start_us[i] = now + 1 + rng_below(sim_rng(run->world, SIM_RNG_PLAN), AGAIN_US) +
                             operator_hold(run, i);
        } else if ((run->swarm.rejoin || run->durability.down) && f->start_us[i] <= now) {
            f->start_us[i] = 0;
            run->durability.starts++;
            f->lives[i]++;
            f->born_us[i] = now;
            /* As the process that stands by it does: what is damaged is not tried twice. */
            if (lives_damaged(sim_exit_of(run->world, id)->code))
                sim_config(run->world, id)->stand_aside = 1;
            /* And as the operator does: what belongs to somebody else is cleared away. */
            if (lives_foreign(run, sim_exit_of(run->world, id)->code))
                (void)sim_disk_spoil(sim_disk_of(run->world, id), NULL, SPOIL_GONE, 0);
            operator_begin(run, i);
            sim_restart(run->world, id);
            if (run->swarm.disk && sim_disk_armed(sim_disk_of(run->world, id)))
                doom(run, id, DISK_US);
        }
    }
    if (started == 0 && !run->durability.down && !run->durability.damaged &&
        now < f->excused_until && !run->swarm.disk) {
        count(&figures_of(run)->clusters_lost);
        run->durability.damaged = true; /* All rows are gone: the run ends. */
        return;
    }
    if (started == 0 && !run->durability.down && !run->durability.damaged)
        run_fail(run, SIM_LIVENESS, "the cluster is lost although it should have survived");
}

bool failures_all_back(void *context)
{
    struct run *run = context;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        uint32_t id = data_node_id(run, i);
        if (run->swarm.rejoin && !failures_started(run, id)) return false;
        if (sim_alive(run->world, id) && !failures_started(run, id)) return false;
        if (run->failures.doomed_until[i] > sim_now_us(run->world)) return false;
    }
    return true;
}

/* Who is not back, for the verdict. */
void failures_missing(struct run *run, char *text, uint32_t size)
{
    uint32_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < run->swarm.data_nodes && used < size; i++) {
        uint32_t id = data_node_id(run, i);
        const struct cntr *cntr = cntr_of_node(run, id);
        if (cntr != NULL && cntr->level == START_STARTED) continue;
        if (cntr == NULL)
            used += (uint32_t)snprintf(text + used, size - used, " node %u (dead)", id);
        else
            used += (uint32_t)snprintf(text + used, size - used, " node %u (level %u, phase %u)",
                                       id, cntr->level, cntr->phase);
    }
}

/* A node stands aside when its process has found damage, which only an injected fault explains. */
static bool group_is_damaged(struct run *run, uint32_t first)
{
    uint32_t aside = 0;
    for (uint32_t i = first; i < first + run->swarm.replicas; i++) {
        uint32_t id = data_node_id(run, i);
        if (!sim_alive(run->world, id) || failures_started(run, id)) return false;
        aside += sim_config(run->world, id)->stand_aside != 0;
    }
    return aside > 0;
}

bool failures_lost_to_damage(struct run *run)
{
    if (!run->swarm.failures || (run->swarm.faults & FAULT_DISK_DAMAGE) == 0) return false;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i += run->swarm.replicas) {
        if (!group_is_damaged(run, i)) continue;
        count(&figures_of(run)->clusters_damaged);
        return true;
    }
    return false;
}

void failures_print(const struct failure_figures *f)
{
    printf(
        "node losses %llu (%llu of them while starting): kills %llu, planned stops %llu, hangs "
        "%llu, cuts %llu, stalls %llu, disk faults %llu (that ended a node %llu); fenced %llu, "
        "started over %llu; rejoins %llu (%llu with others at the same time, %llu lost on such a "
        "way, %llu times one was overtaken); faults left out %llu; single user mode %llu times; "
        "orders of replicas changed %llu times, given up %llu times; "
        "clusters that found no "
        "arbitrator %llu, whose data was damaged everywhere %llu; left needlessly %llu, "
        "misled %llu\n",
        (unsigned long long)f->losses, (unsigned long long)f->losses_starting,
        (unsigned long long)f->kills, (unsigned long long)f->leaves, (unsigned long long)f->hangs,
        (unsigned long long)f->cuts, (unsigned long long)f->stalls, (unsigned long long)f->disks,
        (unsigned long long)f->disk_exits, (unsigned long long)f->fenced,
        (unsigned long long)f->starts_again, (unsigned long long)f->rejoins,
        (unsigned long long)f->together, (unsigned long long)f->together_lost,
        (unsigned long long)f->overtaken, (unsigned long long)f->left_out,
        (unsigned long long)f->singles, (unsigned long long)f->orders,
        (unsigned long long)f->orders_given_up, (unsigned long long)f->clusters_lost,
        (unsigned long long)f->clusters_damaged, (unsigned long long)f->needless,
        (unsigned long long)f->misled);
    if (f->refused > 0)
        printf("--initial was refused %llu times\n", (unsigned long long)f->refused);
    if (f->spoiled > 0)
        printf("files changed between two lives %llu times\n", (unsigned long long)f->spoiled);
    pace_print(f);
    recovery_print(f);
    if (f->deltas + f->given_up == 0) return;
    printf("copies of what has changed %llu: %llu rows restored, %llu of them unchanged, %llu "
           "removed; "
           "%llu copied; copies of all rows %llu: %llu rows; own files given up %llu\n",
           (unsigned long long)f->deltas, (unsigned long long)f->own, (unsigned long long)f->kept,
           (unsigned long long)f->removed, (unsigned long long)f->copied,
           (unsigned long long)f->fulls, (unsigned long long)f->copied_full,
           (unsigned long long)f->given_up);
}

bool failures_rare(const struct failure_figures *f)
{
    uint64_t most = 3u + f->losses / 100u;
    /* It takes a damaged file where the others of the node group are away or behind: more often
     * where lost nodes do not come back before the cluster is lost. */
    uint64_t most_damaged = 2u + f->disks / 15u;
    if (f->needless > most)
        printf("%llu nodes have left needlessly, more than %llu\n", (unsigned long long)f->needless,
               (unsigned long long)most);
    if (f->clusters_damaged > most_damaged)
        printf("%llu clusters were lost to damaged files, more than %llu\n",
               (unsigned long long)f->clusters_damaged, (unsigned long long)most_damaged);
    return f->needless <= most && f->clusters_damaged <= most_damaged;
}
