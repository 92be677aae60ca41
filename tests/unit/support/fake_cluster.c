/* fake_cluster.c -- several nodes in one process, with links between them and clients made of plain
 * functions. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/fake_cluster.h"

#define FC_THREADS 2u
uint32_t fc_first_client = 6;

static uint64_t fc_realtime(struct host *host)
{
    (void)host;
    return 0;
}

static void fc_wake(struct host *host, uint32_t thread_no)
{
    (void)host;
    (void)thread_no;
}

void fc_append(struct fake_cluster *fc, uint32_t from, uint32_t to, const uint32_t *words,
               uint32_t count)
{
    struct fc_link *link = &fc->link[from][to];
    if (link->used + count > link->size) {
        link->size = (link->used + count) * 2;
        link->words = realloc(link->words, (size_t)link->size * 4u);
    }
    memcpy(link->words + link->used, words, (size_t)count * 4u);
    link->used += count;
}

static void fc_link_send(struct host *host, uint32_t thread_no, uint32_t peer, uint32_t epoch,
                         const uint32_t *words, uint32_t count)
{
    struct fc_node *from = (struct fc_node *)host;
    (void)thread_no;
    if (from->cluster->link[from->id][peer].epoch == epoch)
        fc_append(from->cluster, from->id, peer, words, count);
}

static void fc_break(struct fake_cluster *fc, uint32_t a, uint32_t b)
{
    uint32_t ends[2] = {a, b};
    for (uint32_t i = 0; i < 2; i++) {
        struct fc_link *link = &fc->link[ends[i]][ends[1 - i]];
        uint32_t epoch = link->epoch;
        link->epoch = 0;
        link->used = 0;
        if (fc->node[ends[1 - i]].client) fc->node[ends[i]].allowed[ends[1 - i]] = false;
        if (epoch != 0 && fc->node[ends[i]].node != NULL && !fc->node[ends[i]].dead)
            node_link_down(fc->node[ends[i]].node, 0, ends[1 - i], epoch);
    }
}

static void fc_link_close(struct host *host, uint32_t peer, uint32_t epoch, const char *reason)
{
    struct fc_node *from = (struct fc_node *)host;
    if (from->cluster->verbose)
        fprintf(stderr, "node %u closes the link to %u: %s\n", from->id, peer, reason);
    if (from->cluster->link[from->id][peer].epoch == epoch) fc_break(from->cluster, from->id, peer);
}

static void fc_link_allow(struct host *host, uint32_t peer, uint32_t allowed)
{
    struct fc_node *from = (struct fc_node *)host;
    if (peer >= FC_NODES) return;
    from->allowed[peer] = allowed != 0;
    if (!allowed && from->cluster->link[from->id][peer].epoch != 0)
        fc_break(from->cluster, from->id, peer);
}

static uint64_t fc_seed(struct host *host)
{
    return ++((struct fc_node *)host)->cluster->seed;
}

static void fc_log(struct host *host, enum log_level level, const char *text)
{
    struct fc_node *node = (struct fc_node *)host;
    if (strstr(text, "damaged") != NULL) snprintf(node->damaged, sizeof node->damaged, "%s", text);
    if (node->cluster->watch != NULL && strstr(text, node->cluster->watch) != NULL) node->watched++;
    if (node->cluster->verbose)
        fprintf(stderr, "%8lu node %u [%d] %s\n", (unsigned long)node->cluster->now, node->id,
                (int)level, text);
}

static void __attribute__((noreturn)) fc_fail(struct host *host, const struct node_failure *failure)
{
    struct fc_node *node = (struct fc_node *)host;
    node->exit_code = failure->exit_code;
    node->dead = true;
    snprintf(node->failure, sizeof node->failure, "%s:%u: %s", failure->file, failure->line,
             failure->text);
    if (node->cluster->verbose)
        fprintf(stderr, "node %u fails %u %s\n", node->id, node->exit_code, node->failure);
    longjmp(node->cluster->on_fail, 1);
}

static void fc_stopped(struct host *host, uint32_t restart_flags)
{
    ((struct fc_node *)host)->stopped = true;
    ((struct fc_node *)host)->stop_flags = restart_flags;
}

void fc_init(struct fake_cluster *fc)
{
    memset(fc, 0, sizeof *fc);
    for (uint32_t id = 0; id < FC_NODES; id++) {
        fc->node[id].cluster = fc;
        fc->node[id].id = id;
        fc->node[id].client = id >= fc_first_client;
        fc->node[id].host = (struct host){
            .realtime_us = fc_realtime,
            .wake = fc_wake,
            .link_send = fc_link_send,
            .link_close = fc_link_close,
            .link_allow = fc_link_allow,
            .seed = fc_seed,
            .log = fc_log,
            .fail = fc_fail,
            .stopped = fc_stopped,
        };
    }
}

struct node *fc_create(struct fake_cluster *fc, uint32_t id, const struct node_config *config)
{
    struct node_config own = *config;
    own.own_node = id;
    struct node_options options = {
        .host = &fc->node[id].host, .gsn_name = gsn_name, .describe = signal_describe};
    fc->node[id].node = node_create(&own, &options);
    return fc->node[id].node;
}

void fc_client(struct fake_cluster *fc, uint32_t id, bool there)
{
    for (uint32_t node = 1; node < fc_first_client; node++) {
        fc->node[id].allowed[node] = there;
        if (!there && fc->link[id][node].epoch != 0) fc_break(fc, id, node);
    }
}

bool fc_alive(const struct fake_cluster *fc, uint32_t id)
{
    return fc->node[id].client ||
           (fc->node[id].node != NULL && !fc->node[id].dead && !fc->node[id].stopped);
}

void fc_cut(struct fake_cluster *fc, uint32_t a, uint32_t b, bool cut)
{
    fc->link[a][b].cut = fc->link[b][a].cut = cut;
    if (cut) fc_break(fc, a, b);
}

void fc_kill(struct fake_cluster *fc, uint32_t id)
{
    fc->node[id].dead = true;
}

void fc_links(struct fake_cluster *fc)
{
    for (uint32_t a = 1; a < FC_NODES; a++) {
        for (uint32_t b = a + 1; b < FC_NODES; b++) {
            struct fc_node *ends[2] = {&fc->node[a], &fc->node[b]};
            bool want = fc_alive(fc, a) && fc_alive(fc, b) &&
                        !(ends[0]->client && ends[1]->client) && ends[0]->allowed[b] &&
                        ends[1]->allowed[a] && !fc->link[a][b].cut;
            bool up = fc->link[a][b].epoch != 0;
            if (want == up) continue;
            if (up) {
                fc_break(fc, a, b);
                continue;
            }
            uint32_t epoch = ++fc->epoch_next;
            fc->link[a][b].epoch = fc->link[b][a].epoch = epoch;
            for (uint32_t i = 0; i < 2; i++) {
                if (ends[i]->client) continue;
                uint32_t peer = ends[1 - i]->id;
                uint32_t type = node_config_of(ends[i]->node)->node[peer].type;
                uint32_t class_ = type == NODE_DATA  ? FROM_DATA
                                  : type == NODE_MGM ? FROM_MGM
                                                     : FROM_API;
                node_link_up(ends[i]->node, 0, peer, class_, epoch);
            }
        }
    }
}

static void fc_keep(struct fc_node *client, uint32_t from, const uint32_t *words)
{
    struct fc_signal *kept = calloc(1, sizeof *kept + (size_t)words[3] * 4u);
    memcpy(kept->words, words, (size_t)words[3] * 4u);
    signal_open(&kept->sig, kept->words);
    kept->from = from;
    struct fc_signal **at = &client->received;
    while (*at != NULL)
        at = &(*at)->next;
    *at = kept;
}

bool fc_deliver(struct fake_cluster *fc, uint32_t from, uint32_t to)
{
    struct fc_link *link = &fc->link[from][to];
    if (link->used == 0 || link->stalled || link->epoch == 0) return false;
    uint32_t *words = link->words;
    uint32_t used = link->used;
    link->words = NULL;
    link->used = link->size = 0;
    if (fc->node[to].client) {
        for (uint32_t at = 0; at < used; at += words[at + 3])
            fc_keep(&fc->node[to], from, words + at);
    } else if (fc_alive(fc, to)) {
        if (fc->tamper != NULL) fc->tamper(fc, from, to, words, used);
        if (setjmp(fc->on_fail) == 0)
            node_deliver(fc->node[to].node, 0, from, link->epoch, words, used);
    }
    free(words);
    return true;
}

bool fc_run_node(struct fake_cluster *fc, uint32_t id)
{
    volatile bool worked = false;
    struct node *node = fc->node[id].node;
    if (fc->node[id].client || !fc_alive(fc, id)) return false;
    if (setjmp(fc->on_fail) != 0) return true;
    for (uint32_t t = 0; t < node_config_of(node)->thread_count; t++) {
        if (thread_run_once(node_thread(node, t), fc->now, 64).executed > 0) worked = true;
    }
    return worked;
}

void fc_run(struct fake_cluster *fc, uint32_t ms)
{
    for (uint64_t end = fc->now + ms; fc->now < end; fc->now++) {
        bool worked = true;
        for (uint32_t rounds = 0; worked && rounds < 10000; rounds++) {
            worked = false;
            fc_links(fc);
            for (uint32_t id = 1; id < fc_first_client; id++)
                worked |= fc_run_node(fc, id);
            for (uint32_t from = 1; from < FC_NODES; from++) {
                for (uint32_t to = 1; to < FC_NODES; to++)
                    worked |= fc_deliver(fc, from, to);
            }
        }
    }
}

void fc_send(struct fake_cluster *fc, uint32_t client, uint32_t receiver, uint32_t gsn,
             const void *payload, uint32_t words, const struct section *sections, uint32_t count)
{
    uint32_t extent = SIGNAL_HEAD_WORDS + words + count;
    for (uint32_t i = 0; i < count; i++)
        extent += sections[i].size;
    uint32_t *to = calloc(extent, 4u);
    to[0] = signal_kind(gsn, words, count, PRIO_B, 0);
    to[1] = receiver;
    to[2] = block_ref(client, BLOCK_API, 1);
    to[3] = extent;
    memcpy(to + SIGNAL_HEAD_WORDS, payload, (size_t)words * 4u);
    uint32_t *at = to + SIGNAL_HEAD_WORDS + words;
    for (uint32_t i = 0; i < count; i++)
        *at++ = sections[i].size;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(at, sections[i].words, (size_t)sections[i].size * 4u);
        at += sections[i].size;
    }
    if (fc->link[client][ref_node(receiver)].epoch != 0)
        fc_append(fc, client, ref_node(receiver), to, extent);
    free(to);
}

const struct signal *fc_take(struct fake_cluster *fc, uint32_t client, uint32_t gsn)
{
    for (struct fc_signal *at = fc->node[client].received; at != NULL; at = at->next) {
        if (at->seen || at->sig.gsn != gsn) continue;
        at->seen = 1;
        return &at->sig;
    }
    return NULL;
}

void fc_check(struct fake_cluster *fc)
{
    for (uint32_t id = 1; id < fc_first_client; id++) {
        if (fc_alive(fc, id)) node_check(fc->node[id].node);
    }
}

void fc_destroy(struct fake_cluster *fc)
{
    for (uint32_t a = 0; a < FC_NODES; a++) {
        if (fc->node[a].node != NULL) node_destroy(fc->node[a].node);
        while (fc->node[a].received != NULL) {
            struct fc_signal *next = fc->node[a].received->next;
            free(fc->node[a].received);
            fc->node[a].received = next;
        }
        for (uint32_t b = 0; b < FC_NODES; b++)
            free(fc->link[a][b].words);
    }
}
