/* tamper.c -- words between data nodes that are damaged as they arrive: what starts, numbers and
 * saves, never the rows themselves. One node's alone in the hostile mode. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A checksum guards the wire, so a wrong word means a node that is wrong itself. It may cost the
 * cluster, by exits with a name, and it may make a protocol wait for ever: so all lose their power
 * a while after. What was durable before has to be there when all come back.
 *
 * In the hostile mode one node's words alone are wrong, at a time when its loss can be survived. It
 * may go on, as long as nobody is harmed, or be put out; no other one may end but one that it has
 * misled, and all that wait for it have their answers soon (docs/protocols/failure.md, "A node that
 * breaks the protocol").
 */
#include <stdio.h>
#include "kernel/base/rng.h"
#include "kernel/base/beat_rule.h"
#include "tests/sim/failures.h"

#define DAMAGES_MAX 6u

static bool is_target(uint32_t gsn)
{
    if (gsn >= GSN_CM_REGREQ && gsn <= GSN_CM_ADD_CONF) return true;
    if (gsn >= GSN_CNTR_START_REQ && gsn <= GSN_CNTR_START_REF) return gsn != GSN_CNTR_STOP_REP;
    if (gsn >= GSN_SCHEMA_PREPARE_REQ && gsn <= GSN_SCHEMA_CANCEL_ORD) return true;
    if (gsn >= GSN_GCP_PREPARE && gsn <= GSN_GCP_CLOSE_ORD) return true;
    if (gsn == GSN_LOG_ENDS_REQ || gsn == GSN_LOG_ENDS_CONF) return true;
    return gsn >= GSN_LCP_WANTED_ORD && gsn <= GSN_LCP_USABLE_CONF;
}

/* Definitions of tables are taken as they are: both kinds of nodes would be right by themselves. */
static bool only_payload(uint32_t gsn)
{
    return gsn == GSN_SCHEMA_PREPARE_REQ;
}

/* An order that fits, and that others are not given: who follows it is where nobody else is. */
static bool tells_apart(uint32_t gsn)
{
    return gsn == GSN_SCHEMA_STEP_REQ;
}

static uint32_t odd_number(struct rng *rng)
{
    static const uint32_t odd[] = {0, 1, 2, 63, 64, 65535, 65536, INT32_MAX, UINT32_MAX};
    return odd[rng_below(rng, sizeof odd / sizeof odd[0])];
}

static void damage(struct run *run, uint32_t *words)
{
    struct tamper *tamper = &run->tamper;
    struct rng *rng = &tamper->rng;
    uint32_t gsn = kind_gsn(words[0]);
    uint32_t payload = kind_words(words[0]);
    uint32_t lengths = SIGNAL_HEAD_WORDS + payload + kind_sections(words[0]);
    uint32_t at = SIGNAL_HEAD_WORDS + (uint32_t)rng_below(rng, payload);
    if (words[3] > lengths && !only_payload(gsn) && rng_chance(rng, 1, 3))
        at = lengths + (uint32_t)rng_below(rng, words[3] - lengths);
    uint32_t before = words[at];
    switch (rng_below(rng, 4)) {
    case 0:
        words[at] ^= 1u << rng_below(rng, 32);
        break;
    case 1:
        words[at] += 1u;
        break;
    case 2:
        words[at] -= 1u;
        break;
    default:
        words[at] = odd_number(rng);
        break;
    }
    if (tells_apart(gsn)) node_mask_add(&tamper->misled, ref_node(words[1]));
    tamper->done++;
    tamper->left--;
    if (tamper->hostile == 0)
        tamper->kill_us = sim_now_us(run->world) + (1000u << rng_below(rng, 12));
    if (run->verbose)
        printf("%.6f TAMPER %s to node %u from %u, word %u: %08x -> %08x\n",
               (double)sim_now_us(run->world) / 1e6, gsn_name(gsn), ref_node(words[1]),
               ref_node(words[2]), at - SIGNAL_HEAD_WORDS, before, words[at]);
}

static void draw_next(struct tamper *tamper)
{
    tamper->next =
        1u + (uint32_t)rng_below(&tamper->rng, 1u + (1ull << rng_below(&tamper->rng, 10)));
}

/* It lives its first life, and the others can do without it. */
static bool may_harm(struct run *run, uint32_t sender)
{
    const struct tamper *tamper = &run->tamper;
    if (tamper->hostile == 0) return true;
    return sender == tamper->hostile && failures_hostile(run, sender);
}

void tamper_signals(void *context, uint32_t *words, uint32_t count)
{
    struct run *run = context;
    struct tamper *tamper = &run->tamper;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        if (tamper->left == 0 || kind_words(words[at]) == 0) continue;
        if (!is_target(kind_gsn(words[at])) || !may_harm(run, ref_node(words[at + 2])) ||
            --tamper->next > 0)
            continue;
        damage(run, words + at);
        draw_next(tamper);
    }
}

void tamper_alone(struct swarm *swarm)
{
    swarm->faults = 0;
    swarm->config.arbitration = ARBITRATION_DEFAULT;
}

void tamper_begin(struct run *run)
{
    struct tamper *tamper = &run->tamper;
    rng_seed(&tamper->rng, run->swarm.options.seed * 3u + 1u);
    tamper->left = 1u + (uint32_t)rng_below(&tamper->rng, DAMAGES_MAX);
    if (tamper->one)
        tamper->hostile =
            data_node_id(run, (uint32_t)rng_below(&tamper->rng, run->swarm.data_nodes));
    draw_next(tamper);
}

bool tamper_due(struct run *run)
{
    struct tamper *tamper = &run->tamper;
    if (tamper->kill_us == 0 || tamper->kill_us > sim_now_us(run->world)) return false;
    tamper->kill_us = 0;
    return true;
}

static bool is_alone(const struct run *run, uint32_t node)
{
    uint32_t alive = 0;
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++)
        alive += sim_alive(run->world, data_node_id(run, i));
    return alive == 1 && sim_alive(run->world, node);
}

/* What the hostile one says of itself counts only when the other one, misled, has left. */
void tamper_epoch(struct run *run, uint32_t node)
{
    if (node != run->tamper.hostile || is_alone(run, node))
        run->tamper.epoch_us = sim_now_us(run->world);
}

/* Whoever breaks the protocol is put out within the time that a silent node gets (failure.md): its
 * heartbeats, the check with all patience, the arbitrator; and then an epoch is due. */
static uint64_t epoch_limit_us(const struct run *run)
{
    const struct node_config *config = &run->swarm.config;
    uint64_t beat = config->heartbeat_db_db_ms;
    uint64_t check = config->connect_check_ms != 0 ? config->connect_check_ms : beat;
    check = 2u * check > 4u * beat ? 2u * check : 4u * beat;
    return 1000u * (5u * beat + check + 3u * BEAT_PATIENCE_MS + config->arbitration_timeout_ms +
                    config->gci_ms + config->epoch_ms);
}

static bool epoch_late(const struct run *run)
{
    const struct tamper *tamper = &run->tamper;
    return sim_now_us(run->world) - tamper->epoch_us > epoch_limit_us(run);
}

void tamper_watch(struct run *run)
{
    const struct tamper *tamper = &run->tamper;
    if (tamper->hostile == 0 || tamper->done == 0 || run->durability.down ||
        run->durability.damaged || !epoch_late(run))
        return;
    run_fail(run, SIM_LIVENESS, "no epoch has begun for %llu ms behind damaged words",
             (unsigned long long)(sim_now_us(run->world) - tamper->epoch_us) / 1000u);
}

static bool epoch_began(void *context)
{
    const struct run *run = context;
    return run->tamper.epoch_us > run->tamper.end_us;
}

/* Nothing is damaged any more, and what was damaged has its end before rows are compared: a node
 * that leaves for it would take commits along that the model takes for kept. Of a hostile node's
 * last damage it is seen whether epochs go on. */
void tamper_end(struct run *run)
{
    struct tamper *tamper = &run->tamper;
    tamper->left = 0;
    if (tamper->hostile != 0 && tamper->done > 0) {
        tamper->end_us = sim_now_us(run->world);
        (void)run_until(run, epoch_began, run, tamper->end_us + 2u * epoch_limit_us(run));
    }
    if (tamper->kill_us == 0) return;
    tamper->kill_us = sim_now_us(run->world);
    lives_watch(run);
}

bool tamper_announced(struct run *run, uint32_t id, uint32_t code)
{
    const struct tamper *tamper = &run->tamper;
    /* Behind the liar, or ahead of it when the liar has found an answer that it had not asked for,
     * or has not heard that it was dismissed: then both ask the arbitrator at once. */
    bool unheard = tamper->hostile != 0 && code == EXIT_ARBIT_SHUTDOWN &&
                   sim_alive(run->world, tamper->hostile) &&
                   sim_goodbye_lost(run->world, id, tamper->hostile);
    bool misled = (node_mask_has(&tamper->misled, id) || unheard) &&
                  (!sim_alive(run->world, tamper->hostile) || code == EXIT_DECLARED_DEAD ||
                   code == EXIT_ARBIT_SHUTDOWN);
    if (misled && run->failures.figures != NULL) /* All jobs count in it. */
        __atomic_fetch_add(&run->failures.figures->misled, 1, __ATOMIC_RELAXED);
    return (id == tamper->hostile || misled) && code != EXIT_NDBREQUIRE && !lives_damaged(code);
}
