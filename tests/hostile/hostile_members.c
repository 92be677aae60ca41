/* hostile_members.c -- two nodes of one cluster; what one sends to the other is damaged on the way.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hostile_members [--episodes=N] [--seed=S] [--keep-on] [--verbose]
 *
 * Data nodes trust each other more than clients, and a checksum guards the wire; so a wrong word
 * means a node that is wrong itself. It may cost the link or the nodes, but only by an exit with a
 * name: never a failed check, never memory that is not the node's own (which the sanitizers see).
 */
#include "ndbmtd/node_blocks.h"
#include "signals/api_reg.h"
#include "signals/dict.h"
#include "tests/hostile/hostile_gen.h"
#include "tests/unit/support/fake_cluster.h"

#define API             6u
#define EPISODE_SIGNALS 400u

struct members {
    struct fake_cluster cluster; /* First. */
    struct gen gen;
    uint64_t answers[256];
    uint64_t damages;
    uint64_t exits;
    uint32_t armed;      /* So many damages are left in this episode. */
    uint32_t damaged[8]; /* The beginning of the last damaged signal. */
};

/* Payload and section contents only: lengths and references to blocks are the border guard's
 * affair, tested elsewhere. */
static void damage_signal(struct members *members, uint32_t *words)
{
    struct rng *rng = &members->gen.rng;
    uint32_t payload = kind_words(words[0]);
    uint32_t lengths = SIGNAL_HEAD_WORDS + payload + kind_sections(words[0]);
    uint32_t at = SIGNAL_HEAD_WORDS + (uint32_t)rng_below(rng, payload);
    if (words[3] > lengths && rng_chance(rng, 1, 3))
        at = lengths + (uint32_t)rng_below(rng, words[3] - lengths);
    if (at >= words[3]) return;
    switch (rng_below(rng, 3)) {
    case 0:
        words[at] ^= 1u << rng_below(rng, 32);
        break;
    case 1:
        words[at] += rng_chance(rng, 1, 2) ? 1u : UINT32_MAX;
        break;
    default:
        words[at] = gen_odd(&members->gen);
        break;
    }
    members->armed--;
    members->damages++;
    memcpy(members->damaged, words, sizeof members->damaged);
}

static void tamper(struct fake_cluster *cluster, uint32_t from, uint32_t to, uint32_t *words,
                   uint32_t count)
{
    struct members *members = (struct members *)(void *)cluster;
    if (from >= fc_first_client || to >= fc_first_client) return;
    for (uint32_t at = 0; at < count; at += words[at + 3]) {
        uint32_t gsn = kind_gsn(words[at]);
        /* Heartbeats are most of the traffic. A wrong stop is a stop. */
        uint32_t odds = gsn == GSN_CM_HEARTBEAT ? 2000u : 30u;
        if (members->armed > 0 && gsn != GSN_CNTR_STOP_REP && words[at + 3] >= 8u &&
            rng_chance(&members->gen.rng, 1, odds))
            damage_signal(members, words + at);
    }
}

static struct node_config make_config(struct rng *rng)
{
    struct node_config config;
    memset(&config, 0, sizeof config);
    node_config_defaults(&config);
    config.replicas = 2;
    config.cluster_id = 1;
    config.generation = 1;
    config.ldm_count = 1u + (uint32_t)rng_below(rng, 2);
    config.tc_count = 1;
    config.heartbeat_db_db_ms = 200;
    config.heartbeat_db_api_ms = 1000;
    config.deadlock_timeout_ms = 60;
    config.tables_max = 20;
    config.operations_max = 5000;
    config.overflow_segments = 8;
    config.job_queue_words = 1u << 17;
    config.memory.pages_max[RG_DATA] = 500;
    config.node[1] = config.node[2] = (struct config_node){.type = NODE_DATA};
    config.node[API].type = NODE_API;
    return config;
}

static void learn_answers(struct members *members)
{
    struct fc_node *client = &members->cluster.node[API];
    while (client->received != NULL) {
        struct fc_signal *first = client->received;
        if (first->sig.gsn < 256) members->answers[first->sig.gsn]++;
        gen_learn(&members->gen, API, &first->sig);
        client->received = first->next;
        free(first);
    }
}

static void client_sends(struct members *members)
{
    static uint32_t words[SIGNAL_EXTENT_MAX + 32000];
    struct fake_cluster *fc = &members->cluster;
    uint32_t node = 1u + (uint32_t)rng_below(&members->gen.rng, 2);
    for (uint32_t tries = 0; tries < 20; tries++) {
        uint32_t count = gen_signal(&members->gen, API, FROM_API, words);
        if (signal_extent_check(words, count) != count || ref_node(words[1]) != 1u ||
            ref_node(words[2]) != API)
            continue;
        if (members->gen.using_connect == NULL)
            words[1] = block_ref(node, ref_block(words[1]), ref_instance(words[1]));
        if (fc->link[API][ref_node(words[1])].epoch != 0)
            fc_append(fc, API, ref_node(words[1]), words, count);
        return;
    }
}

static bool named(const struct fc_node *node)
{
    return !node->dead || node->exit_code != EXIT_NDBREQUIRE;
}

static bool episode(struct members *members, uint64_t seed, bool verbose)
{
    struct fake_cluster *fc = &members->cluster;
    fc_init(fc);
    fc->verbose = verbose;
    fc->seed = seed * 100u;
    fc->tamper = tamper;
    gen_init(&members->gen, seed);
    struct node_config config = make_config(&members->gen.rng);
    members->gen.tc_count = members->gen.ldm_count = 1;
    members->gen.good_table = 0xFFFFFFu; /* Nobody's. */
    /* Some episodes damage the start already. */
    members->armed = rng_chance(&members->gen.rng, 1, 5) ? 3 : 0;
    for (uint32_t id = 1; id <= 2; id++)
        node_blocks_create(fc_create(fc, id, &config));
    fc_client(fc, API, true);
    fc_run(fc, 100);
    members->armed = 1u + (uint32_t)rng_below(&members->gen.rng, 6);
    for (uint32_t i = 0; i < EPISODE_SIGNALS && (fc_alive(fc, 1) || fc_alive(fc, 2)); i++) {
        if (i % 50 == 0) {
            struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
            fc_sig_send(fc, API, block_ref(1, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
            fc_sig_send(fc, API, block_ref(2, BLOCK_QMGR, 0), GSN_API_REGREQ, &req);
        }
        client_sends(members);
        if (i % 3 == 0) fc_run(fc, 1);
        if (i % 100 == 99) fc_run(fc, 100);
        learn_answers(members);
    }
    bool right = true;
    for (uint32_t id = 1; id <= 2; id++) {
        members->exits += fc->node[id].dead;
        if (named(&fc->node[id])) continue;
        right = false;
        fprintf(stderr, "FAILED: node %u: %s\n", id, fc->node[id].failure);
        fprintf(stderr, "last damage: %s to %08x from %08x, extent %u, %08x %08x %08x %08x\n",
                gsn_name(kind_gsn(members->damaged[0])), members->damaged[1], members->damaged[2],
                members->damaged[3], members->damaged[4], members->damaged[5], members->damaged[6],
                members->damaged[7]);
        fprintf(stderr, "repeat: hostile_members --episodes=1 --seed=%llu\n",
                (unsigned long long)seed);
    }
    fc_destroy(fc);
    return right;
}

int main(int argc, char **argv)
{
    static struct members members;
    unsigned long long episodes = 100;
    unsigned long long seed = 1;
    bool verbose = false;
    bool keep_on = false;
    unsigned long long wrong = 0;
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "--episodes=%llu", &episodes) == 1 ||
            sscanf(argv[i], "--seed=%llu", &seed) == 1)
            continue;
        if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else if (strcmp(argv[i], "--keep-on") == 0)
            keep_on = true;
        else
            return 2;
    }
    for (unsigned long long i = 0; i < episodes; i++) {
        if (episode(&members, seed + i, verbose)) continue;
        wrong++;
        if (!keep_on) return 1;
    }
    for (uint32_t i = 0; verbose && i < 256; i++) {
        if (members.answers[i] > 0)
            printf("%8llu %s\n", (unsigned long long)members.answers[i], gsn_name(i));
    }
    printf("%llu episodes, %llu damaged signals, %llu exits of nodes, %llu episodes with a failed "
           "check\n",
           episodes, (unsigned long long)members.damages, (unsigned long long)members.exits, wrong);
    return wrong == 0 ? 0 : 1;
}
