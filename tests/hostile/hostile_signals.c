/* hostile_signals.c -- attacks a node with seeded signals of all classes of senders while a good
 * client works. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hostile_signals [--signals=N] [--seed=S] [--episodes=E] [--senders=clients|data] [--verbose]
 *
 * Each episode makes a node and attacks it with EPISODE_SIGNALS signals from two API nodes and a
 * management server (or from a data node). After each batch: the node lives, the good client is
 * served; after each round the attackers' links are cut, and nothing of theirs may be left. Exit
 * status 1 and a line that repeats the episode when that does not hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "signals/api_reg.h"
#include "signals/dict.h"
#include "values/errors.h"
#include "values/key.h"
#include "signals/print.h"
#include "signals/tckey.h"
#include "tests/fuzz/node_harness.h"
#include "tests/hostile/hostile_gen.h"

#define EPISODE_SIGNALS 4000u
#define ROUND_SIGNALS   500u
#define BATCH_SIGNALS   50u
#define WAIT_MS         3000u
#define GOOD_KEY        1000u

struct good {
    uint32_t tc_ref;
    uint32_t tc_connect;
    uint32_t transid;
    bool answered;
    uint32_t gsn;
    uint32_t words[SIGNAL_WORDS_MAX];
};

struct attack {
    struct harness *harness;
    struct gen gen;
    struct good good;
    bool data;
    uint64_t seed;
    uint64_t sent;
    uint64_t answers[256]; /* Answers by signal: they show that the attack gets somewhere. */
    uint64_t errors[1024]; /* Refused operations by error number. */
    uint32_t last[64];     /* The beginning of the last signal. */
    char why[400];
};

static const char *program;

static bool failed(struct attack *attack, const char *what)
{
    snprintf(attack->why, sizeof attack->why, "%s", what);
    return false;
}

/* --- The good client. --- */

static void received(void *context, uint32_t peer, const struct signal *sig)
{
    struct attack *attack = context;
    struct good *good = &attack->good;
    if (peer != HARNESS_GOOD) {
        if (sig->gsn < 256) attack->answers[sig->gsn]++;
        if (sig->gsn == GSN_TCKEYREF && sig->payload[3] < 1024) attack->errors[sig->payload[3]]++;
        if (sig->gsn == GSN_TCROLLBACKREP && sig->payload[3] < 1024)
            attack->errors[sig->payload[3]]++;
        gen_learn(&attack->gen, peer, sig);
        return;
    }
    if (sig->gsn == GSN_API_REGCONF || sig->gsn == GSN_TABLE_CHANGED_REP) return;
    good->answered = true;
    good->gsn = sig->gsn;
    memcpy(good->words, sig->payload, sig->words * 4u);
}

static void heartbeat(struct attack *attack, uint32_t peer)
{
    struct api_regreq req = {.version = NDB_VERSION, .generation = 1};
    harness_sig(attack->harness, peer, block_ref(HARNESS_NODE, BLOCK_QMGR, 0), GSN_API_REGREQ,
                &req);
}

static void pass_time(struct attack *attack, uint32_t ms)
{
    for (uint32_t passed = 0; passed < ms && harness_alive(attack->harness); passed += 20) {
        heartbeat(attack, HARNESS_GOOD);
        harness_run(attack->harness, ms - passed < 20 ? ms - passed : 20);
    }
}

static bool wait_answer(struct attack *attack)
{
    for (uint32_t ms = 0; ms < WAIT_MS && harness_alive(attack->harness); ms++) {
        harness_run(attack->harness, ms == 0 ? 0 : 1);
        if (attack->good.answered) return true;
        if (ms % 20 == 0) heartbeat(attack, HARNESS_GOOD);
    }
    return false;
}

static bool ask(struct attack *attack, uint32_t receiver, uint32_t gsn, const void *payload,
                uint32_t words, const struct section *sections, uint32_t count)
{
    attack->good.answered = false;
    if (!harness_send(attack->harness, HARNESS_GOOD, receiver, gsn, payload, words, sections,
                      count))
        return failed(attack, "the good client's link was closed");
    return wait_answer(attack) ? true : failed(attack, "the good client is not answered");
}

/* One operation, committed by itself. Returns the error, 0 = done; UINT32_MAX = no answer that
 * fits. */
static uint32_t operate(struct attack *attack, enum key_operation operation, uint32_t key)
{
    struct good *good = &attack->good;
    uint32_t value[3] = {attr_header(1, 4), 0x03020103u, 0};
    uint32_t all = attr_header(ATTR_READ_ALL, 0);
    bool read = operation == OP_READ;
    struct section sections[2] = {{&key, 1}, {read ? &all : value, read ? 1 : 2}};
    struct tckeyreq req = {
        .tc_connect = good->tc_connect,
        .api_op = key,
        .table_id = attack->gen.good_table,
        .schema_version = attack->gen.good_version,
        .request_info = read ? key_request_info(OP_READ, LOCK_COMMITTED, 0)
                             : key_request_info(operation, LOCK_EXCLUSIVE,
                                                KEY_START | KEY_EXECUTE | KEY_COMMIT),
        .transid1 = ++good->transid,
        .transid2 = 77,
    };
    struct gen_connect *known = &attack->gen.connect[GEN_GOOD_CONNECT];
    *known = (struct gen_connect){
        good->tc_ref, good->tc_connect, HARNESS_GOOD, good->transid, 77, 0, 1, 0, 0};
    if (!ask(attack, good->tc_ref, GSN_TCKEYREQ, &req, sizeof req / 4u, sections,
             operation == OP_DELETE ? 1 : 2))
        return UINT32_MAX;
    if (good->gsn == GSN_TRANSID_AI && read && good->words[0] == key) return 0;
    if (good->gsn == GSN_TCKEYCONF && !read && good->words[1] == good->transid) return 0;
    if (good->gsn == GSN_TCKEYREF && good->words[0] == key) return good->words[3];
    if (good->gsn == GSN_TCROLLBACKREP && good->words[1] == good->transid) return good->words[3];
    snprintf(attack->why, sizeof attack->why, "the good client got signal %u instead of its answer",
             good->gsn);
    return UINT32_MAX;
}

/* `calm`: nobody attacks, so nothing may be refused. */
static bool accept_error(struct attack *attack, const char *what, uint32_t error, bool calm)
{
    if (error == 0) return true;
    if (error == UINT32_MAX) return false;
    const struct error_entry *entry = error_get(error);
    if ((!calm || attack->gen.allow_stop != 0) &&
        (error_status(error) == ERROR_STATUS_TEMPORARY || error == 827u))
        return true;
    if (attack->gen.allow_stop != 0 && error == ERR_SINGLE_USER_MODE) return true;
    snprintf(attack->why, sizeof attack->why, "the good client's %s gets error %u: %s", what, error,
             entry->text);
    return false;
}

static bool served(struct attack *attack, bool calm)
{
    uint32_t key = GOOD_KEY + 1u + attack->good.transid % 1000u;
    if (!accept_error(attack, "read", operate(attack, OP_READ, GOOD_KEY), calm)) return false;
    uint32_t error = operate(attack, OP_INSERT, key);
    if (!accept_error(attack, "insert", error, calm)) return false;
    if (error != 0) return true;
    for (uint32_t tries = 0; tries < 50; tries++) {
        error = operate(attack, OP_DELETE, key);
        if (!accept_error(attack, "delete", error, calm)) return false;
        if (error == 0) return true;
        pass_time(attack, 20);
    }
    return true; /* Short of records all the time; the row is found and deleted by nobody, which is
                    no harm. */
}

static bool good_begins(struct attack *attack)
{
    static uint32_t words[4000];
    struct good *good = &attack->good;
    struct create_table_req create = {.sender_data = 0};
    struct section section = {words, gen_table_words(0, 9999, words, 4000)};
    if (!ask(attack, block_ref(HARNESS_NODE, BLOCK_DBDICT, 0), GSN_CREATE_TABLE_REQ, &create, 1,
             &section, 1))
        return false;
    if (good->gsn != GSN_CREATE_TABLE_CONF) return failed(attack, "no table for the good client");
    attack->gen.good_table = good->words[1];
    attack->gen.good_version = good->words[2];
    struct tcseizereq seize = {.sender_data = 1};
    good->tc_ref = block_ref(HARNESS_NODE, BLOCK_DBTC, 1);
    if (!ask(attack, good->tc_ref, GSN_TCSEIZEREQ, &seize, 1, NULL, 0)) return false;
    if (good->gsn != GSN_TCSEIZECONF)
        return failed(attack, "no transaction record for the good client");
    good->tc_connect = good->words[1];
    return accept_error(attack, "first insert", operate(attack, OP_INSERT, GOOD_KEY), true);
}

/* --- The attack. --- */

static uint32_t class_of(uint32_t peer)
{
    return peer == HARNESS_DATA ? FROM_DATA : peer == HARNESS_MGM ? FROM_MGM : FROM_API;
}

static bool attack_up(struct attack *attack, uint32_t peer)
{
    if (harness_is_up(attack->harness, peer)) return true;
    gen_forget(&attack->gen, peer);
    heartbeat(attack, HARNESS_GOOD);
    if (!harness_up(attack->harness, peer))
        return attack->data || failed(attack, "the node does not let a client in again");
    heartbeat(attack, peer);
    return true;
}

static bool attack_once(struct attack *attack)
{
    static uint32_t words[SIGNAL_EXTENT_MAX + 32000];
    static const uint32_t clients[] = {HARNESS_API, HARNESS_API, HARNESS_API, HARNESS_API + 1,
                                       HARNESS_MGM};
    struct rng *rng = &attack->gen.rng;
    uint32_t peer =
        attack->data && rng_chance(rng, 3, 4) ? HARNESS_DATA : clients[rng_below(rng, 5)];
    if (!attack_up(attack, peer)) return false;
    uint32_t count = gen_signal(&attack->gen, peer, class_of(peer), words);
    memcpy(attack->last, words, sizeof attack->last);
    attack->sent++;
    harness_words(attack->harness, peer, words, count);
    if (rng_chance(rng, 1, 3)) harness_run(attack->harness, 0);
    if (rng_chance(rng, 1, 30)) harness_run(attack->harness, 1);
    if (rng_chance(rng, 1, 300)) pass_time(attack, (uint32_t)rng_below(rng, 600));
    return true;
}

/* Everybody but the good client leaves; what was theirs must go. */
static bool all_gone(struct attack *attack)
{
    struct harness_usage usage = {0};
    for (uint32_t peer = HARNESS_DATA; peer < HARNESS_PEERS; peer++) {
        if (peer != HARNESS_GOOD) harness_down(attack->harness, peer);
        if (peer != HARNESS_GOOD) gen_forget(&attack->gen, peer);
    }
    for (uint32_t ms = 0; ms < WAIT_MS; ms += 20) {
        pass_time(attack, 20);
        if (!harness_alive(attack->harness)) return true;
        harness_usage_get(attack->harness, &usage);
        if (usage.connects == 1 && usage.transactions + usage.operations + usage.scans +
                                           usage.segments + usage.locks + usage.changes +
                                           usage.schema_busy ==
                                       0)
            return true;
    }
    snprintf(attack->why, sizeof attack->why,
             "left behind: %u connects (1 is right), %u transactions, %u operations, %u scans, %u "
             "segments, %u locks, "
             "%u changes, %u schema transactions",
             usage.connects, usage.transactions, usage.operations, usage.scans, usage.segments,
             usage.locks, usage.changes, usage.schema_busy);
    return false;
}

static bool attack_round(struct attack *attack)
{
    for (uint32_t i = 0; i < ROUND_SIGNALS && harness_alive(attack->harness); i++) {
        if (!attack_once(attack)) return harness_stopped(attack->harness);
        if (i % BATCH_SIGNALS != BATCH_SIGNALS - 1u || attack->data) continue;
        pass_time(attack, 1);
        if (harness_stopped(attack->harness)) return true;
        if (!harness_check(attack->harness) || !served(attack, false))
            return harness_stopped(attack->harness);
    }
    harness_run(attack->harness, 1);
    if (!harness_alive(attack->harness) || attack->data) return true;
    if (!all_gone(attack) || !harness_alive(attack->harness))
        return harness_stopped(attack->harness);
    return harness_check(attack->harness) && served(attack, true);
}

/* A peer that is trusted as a data node may bring the node down, but only in a way that has a name.
 */
static bool named_exit(const struct attack *attack)
{
    const struct harness_failure *failure = harness_failure_of(attack->harness);
    return attack->data && failure->failed && failure->exit_code != EXIT_NDBREQUIRE &&
           failure->exit_code != 0;
}

static void report(const struct attack *attack, const char *options)
{
    static char text[2000];
    struct signal sig;
    const struct harness_failure *failure = harness_failure_of(attack->harness);
    uint32_t head = SIGNAL_HEAD_WORDS + kind_words(attack->last[0]);
    fprintf(stderr, "FAILED: %s %s\n", attack->why, failure->failed ? failure->text : "");
    memset(&sig, 0, sizeof sig);
    sig.gsn = kind_gsn(attack->last[0]);
    sig.words = head <= 64 ? kind_words(attack->last[0]) : 0;
    sig.payload = attack->last + SIGNAL_HEAD_WORDS;
    signal_describe(&sig, text, sizeof text);
    fprintf(stderr, "after %llu signals; the last: %s to %08x from %08x: %s\n",
            (unsigned long long)attack->sent, gsn_name(sig.gsn), attack->last[1], attack->last[2],
            text);
    fprintf(stderr, "repeat: %s --seed=%llu --episodes=1 %s\n", program,
            (unsigned long long)attack->seed, options);
}

static bool episode(struct attack *attack, bool verbose, const char *options_text)
{
    struct rng rng;
    rng_seed(&rng, attack->seed ^ 0x5EED5u);
    struct harness_options options = {
        .seed = attack->seed,
        .split_threads = rng_chance(&rng, 1, 3),
        .ldm_count = 1u + (uint32_t)rng_below(&rng, 3),
        .tc_count = 1u + (uint32_t)rng_below(&rng, 2),
        .tiny = rng_chance(&rng, 1, 4),
        .data_peer = attack->data,
        .verbose = verbose,
        .keep_quiet = attack->data && !verbose,
        .received = received,
        .context = attack,
    };
    gen_init(&attack->gen, attack->seed);
    attack->gen.tc_count = options.tc_count;
    attack->gen.ldm_count = options.ldm_count;
    attack->gen.allow_stop = rng_chance(&rng, 1, 8);
    attack->harness = harness_create(&options);
    if (attack->harness == NULL) return false;
    attack->why[0] = '\0';
    bool right = good_begins(attack);
    uint64_t end = attack->sent + EPISODE_SIGNALS;
    while (right && harness_alive(attack->harness) && attack->sent < end)
        right = attack_round(attack);
    if (harness_failure_of(attack->harness)->failed) right = named_exit(attack);
    if (!right) report(attack, options_text);
    harness_destroy(attack->harness);
    return right;
}

int main(int argc, char **argv)
{
    static struct attack attack;
    unsigned long long signals = 100000;
    unsigned long long seed = 1;
    unsigned long long episodes = 0;
    char senders[16] = "clients";
    bool verbose = false;
    program = argv[0];
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (sscanf(argv[i], "--signals=%llu", &signals) == 1 ||
            sscanf(argv[i], "--seed=%llu", &seed) == 1 ||
            sscanf(argv[i], "--episodes=%llu", &episodes) == 1 ||
            sscanf(argv[i], "--senders=%15s", senders) == 1)
            continue;
        if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
            continue;
        }
        fprintf(stderr,
                "usage: %s [--signals=N] [--seed=S] [--episodes=E] [--senders=clients|data] "
                "[--verbose]\n",
                program);
        return 2;
    }
    attack.data = strcmp(senders, "data") == 0;
    const char *options_text = attack.data ? "--senders=data" : "";
    unsigned long long done = 0;
    for (attack.seed = seed; episodes == 0 ? attack.sent < signals : done < episodes;
         attack.seed++, done++) {
        if (!episode(&attack, verbose, options_text)) return 1;
    }
    for (uint32_t i = 0; verbose && i < 256; i++) {
        if (attack.answers[i] > 0)
            printf("%8llu %s\n", (unsigned long long)attack.answers[i], gsn_name(i));
    }
    for (uint32_t i = 0; verbose && i < 1024; i++) {
        if (attack.errors[i] > 0)
            printf("%8llu error %u\n", (unsigned long long)attack.errors[i], i);
    }
    printf("%llu signals from %s in %llu episodes: the node lived, the good client was served\n",
           (unsigned long long)attack.sent, senders, done);
    return 0;
}
