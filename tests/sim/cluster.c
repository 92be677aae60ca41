/* cluster.c -- builds the simulated cluster: data nodes with their real blocks, clients with the
 * real library core. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ndbmtd/layout.h"
#include "ndbmtd/node_blocks.h"
#include "signals/print.h"
#include "tests/sim/failures.h"
#include "tests/sim/jams.h"

#define CLIENT_TICK_US 50000u

uint32_t data_node_id(const struct run *run, uint32_t index)
{
    return run->swarm.id_first + index * run->swarm.id_step;
}

uint32_t ldm_of(const struct run *run, uint32_t index)
{
    uint32_t ldm = run->swarm.ldm;
    return run->swarm.mixed_ldm && index % 2 != 0 ? ldm % 3 + 1 : ldm;
}

/* --- A client's process. --- */

static bool client_send(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                        uint32_t count)
{
    struct client *client = context;
    return sim_client_send(client->run->world, client->node, peer, epoch, words, count);
}

static void client_close_link(void *context, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct client *client = context;
    (void)epoch;
    sim_client_close(client->run->world, client->node, peer, reason);
}

static void on_link_up(void *context, uint32_t peer, uint32_t epoch)
{
    api_core_link_up(((struct client *)context)->core, peer, epoch);
}

static void on_link_down(void *context, uint32_t peer, uint32_t epoch)
{
    api_core_link_down(((struct client *)context)->core, peer, epoch);
}

static bool on_signals(void *context, uint32_t peer, uint32_t epoch, const uint32_t *words,
                       uint32_t count)
{
    struct client *client = context;
    bool good = api_core_signals(client->core, peer, epoch, words, count);
    if (!good)
        run_fail(client->run, SIM_CORRECTNESS, "client %u refuses signal %u of node %u",
                 client->node, kind_gsn(words[0]), peer);
    return good;
}

static uint64_t client_run(void *context, uint64_t now_us)
{
    struct client *client = context;
    struct run *run = client->run;
    uint64_t next = now_us + CLIENT_TICK_US;
    api_core_tick(client->core, now_us / 1000u);
    for (uint32_t i = 0; i < run->swarm.sessions; i++) {
        struct session *session = &client->session[i];
        uint64_t wanted = session_run(session, now_us);
        if (wanted < next) next = wanted;
        if (session->state == SESSION_BUSY && session->scan != NULL && session->ready_due)
            next = now_us;
        uint32_t tick_ms = api_client_next_tick(session->api);
        if (tick_ms < CLIENT_TICK_US / 1000u && now_us + tick_ms * 1000u < next)
            next = now_us + tick_ms * 1000u;
    }
    return next <= now_us ? now_us + 1 : next;
}

static const struct sim_client_calls client_calls = {
    .link_up = on_link_up,
    .link_down = on_link_down,
    .signals = on_signals,
    .run = client_run,
};

static void core_create(struct client *client)
{
    struct run *run = client->run;
    struct api_config config = {
        .own_node = client->node,
        .generation = 1,
        .transid_start = rng_next(work_rng(run)),
        .scan_buffer_words = run->swarm.tiny ? 200 : 0,
    };
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++)
        node_mask_add(&config.data_nodes, data_node_id(run, i));
    struct api_host host = {.context = client, .send = client_send, .close = client_close_link};
    client->core = api_core_create(&config, &host);
    if (client->core == NULL) abort();
    for (uint32_t i = 0; i < run->swarm.sessions; i++)
        session_open(&client->session[i]);
    client->alive = true;
}

/* The process ends without a word: nothing of what it had begun is heard of again. */
void client_kill(struct client *client)
{
    struct run *run = client->run;
    if (!client->alive) return;
    sim_kill(run->world, client->node);
    client->alive = false;
    for (uint32_t i = 0; i < run->swarm.sessions; i++) {
        struct session *session = &client->session[i];
        struct api_client *api = session->api;
        session_crashed(session);
        api_client_close(api);
        for (uint32_t table = 0; table < TABLES_MAX; table++) {
            if (session->table[table] != NULL) api_table_release(session->table[table]);
            session->table[table] = NULL;
        }
    }
    api_core_destroy(client->core);
    client->core = NULL;
}

void client_start(struct client *client)
{
    if (client->alive) return;
    core_create(client);
    sim_restart(client->run->world, client->node);
}

/* --- The world. --- */

static void on_action(void *context, const struct sim_event *event)
{
    struct run *run = context;
    uint32_t node = event->arg[0];
    if (event->action == SIM_SINGLE) {
        single_action(run, event);
        return;
    }
    if (event->action == SIM_OPTIONS) {
        operator_action(run, event);
        return;
    }
    if (event->action == SIM_LULL) {
        uint64_t until = sim_now_us(run->world) + event->arg[0] * 1000u;
        if (until > run->lull_until_us) run->lull_until_us = until;
        return;
    }
    if (event->action == SIM_KEEP || event->action == SIM_SPOIL) {
        spoil_action(run, event);
        return;
    }
    if (event->action == SIM_PACE) {
        order_action(run, event);
        return;
    }
    if (node >= CLIENT_NODE && node < CLIENT_NODE + run->swarm.clients) {
        struct client *client = &run->client[node - CLIENT_NODE];
        if (run->durability.verifying) return; /* The check goes through it. */
        if (event->action == SIM_KILL)
            client_kill(client);
        else
            client_start(client);
    } else if (run->swarm.failures && event->action == SIM_KILL) {
        sim_kill(run->world, node);
    } else if (event->action != SIM_START) {
        lives_action(run, event);
    }
}

static bool is_announced(void *context, uint32_t node, const struct node_failure *failure)
{
    struct run *run = context;
    jams_look(); /* Nothing runs there any more. */
    if (run->swarm.failures) return failures_announced(run, node, failure->exit_code);
    if (run->swarm.disk) return lives_announced(run, failure->exit_code);
    if (failure->exit_code == EXIT_ERROR_INSERT) {
        run->stopping_cluster = true;
        return true;
    }
    if (!run->stopping_cluster && (run->swarm.faults & FAULT_DATA_CUT) == 0) return false;
    run->stopping_cluster = true;
    return failure->exit_code == EXIT_ARBIT_SHUTDOWN ||
           failure->exit_code == EXIT_OTHER_NODE_FAILED ||
           failure->exit_code == EXIT_SYSTEM_ERROR || failure->exit_code == EXIT_DECLARED_DEAD;
}

static bool is_allowed(void *context, const struct sim_event *event)
{
    struct run *run = context;
    if (run->swarm.failures) return failures_allowed(run, event);
    if (event->action == SIM_CUT && event->arg[0] < CLIENT_NODE && event->arg[1] < CLIENT_NODE)
        run->parted = true;
    return true;
}

/* What only starts may use comes on top, so that work has as much as was drawn for it. */
static void memory_for_starts(struct run *run)
{
    struct arena_limits *memory = &run->swarm.config.memory;
    uint32_t spare = memory->pages_max[RG_DATA] / 20u + 4u * run->swarm.ldm;
    memory->pages_max[RG_DATA] += spare;
    memory->pages_spare[RG_DATA] = spare;
}

void cluster_build(struct run *run)
{
    struct sim_options *options = &run->swarm.options;
    memory_for_starts(run);
    options->gsn_name = gsn_name;
    options->describe = signal_describe;
    options->observe = report_observe;
    options->log = report_log;
    options->action = on_action;
    options->announced = is_announced;
    options->allowed = is_allowed;
    options->tamper = run->tamper.on ? tamper_signals : NULL;
    options->context = run;
    run->world = sim_create(options);
    for (uint32_t i = 0; i < run->swarm.data_nodes; i++) {
        run->swarm.config.own_node = data_node_id(run, i);
        run->swarm.config.ldm_count = ldm_of(run, i);
        run->swarm.config.thread_count =
            run->swarm.split ? layout_split_threads(ldm_of(run, i), run->swarm.tc) : 1;
        struct sim_data_options data = {
            .config = &run->swarm.config,
            .build = node_blocks_create,
            .link_thread = layout_socket_thread(&run->swarm.config),
        };
        sim_add_data(run->world, &data);
    }
    run->swarm.config.ldm_count = run->swarm.ldm;
    for (uint32_t i = 0; i < run->swarm.clients; i++) {
        struct client *client = &run->client[i];
        client->run = run;
        client->node = CLIENT_NODE + i;
        for (uint32_t k = 0; k < run->swarm.sessions; k++) {
            client->session[k].client = client;
            client->session[k].no = i * run->swarm.sessions + k;
            client->session[k].jobs_left = run->swarm.jobs;
        }
        core_create(client);
        sim_add_client(run->world, client->node, &client_calls, client);
    }
}

bool client_ready(const struct run *run, const struct client *client)
{
    struct node_mask ready = api_core_ready(client->core);
    uint32_t wanted = run->swarm.data_nodes;
    for (uint32_t i = 0; run->swarm.failures && i < run->swarm.data_nodes; i++) {
        bool lost = run->failures.begun && !sim_alive(run->world, data_node_id(run, i));
        if (lost) wanted--;
    }
    return node_mask_count(&ready) == wanted;
}

bool cluster_started(struct run *run)
{
    for (uint32_t i = 0; i < run->swarm.clients; i++) {
        if (!client_ready(run, &run->client[i])) return false;
    }
    return true;
}
