/* mc_stats_detail.c -- "stats detail": requests by the prefix of their key. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * memcached counts by what stands before the first colon of a key, however many such prefixes there
 * are. Here the prefixes are those of the configuration, and a new one begins to count anew.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "servers/memcached/mc_config_rows.h"
#include "servers/memcached/mc_output.h"
#include "servers/memcached/mc_server.h"

static void add(uint64_t *figure)
{
    (void)__atomic_add_fetch(figure, 1, __ATOMIC_RELAXED);
}

void mc_stats_count_prefix(const struct mc_job *job)
{
    const struct mc_request *request = &job->request;
    if (job->prefix == NULL ||
        !atomic_load_explicit(&job->worker->server->detail, memory_order_relaxed))
        return;
    struct mc_prefix_figures *figures =
        &job->config->figures[(size_t)(job->prefix - job->config->prefixes)];
    bool found = request->result.status == MC_OK && !request->result.created;
    if (request->command == MC_GET) {
        add(&figures->gets);
        if (found) add(&figures->hits);
    } else if (request->command == MC_DELETE) {
        add(&figures->deletes);
    } else if (request->command <= MC_PREPEND) {
        add(&figures->sets);
    }
}

static void dump(struct mc_worker *worker, const struct mc_request *request,
                 struct mc_output *output)
{
    const struct mc_config *config = worker->config;
    for (uint32_t i = 0; i < config->prefix_count; i++) {
        struct mc_prefix_figures *figures = &config->figures[i];
        char name[MC_SHOWN_MAX], value[128];
        mc_config_shown(config->prefixes[i].prefix, config->prefixes[i].size, name);
        if (name[0] == '\0') strcpy(name, "(none)");
        snprintf(value, sizeof value,
                 "get %" PRIu64 " hit %" PRIu64 " set %" PRIu64 " del %" PRIu64,
                 __atomic_load_n(&figures->gets, __ATOMIC_RELAXED),
                 __atomic_load_n(&figures->hits, __ATOMIC_RELAXED),
                 __atomic_load_n(&figures->sets, __ATOMIC_RELAXED),
                 __atomic_load_n(&figures->deletes, __ATOMIC_RELAXED));
        if (request->form.protocol == MC_BINARY) {
            mc_reply_stat(request, name, value, output);
            continue;
        }
        mc_put_text(output, "PREFIX ");
        mc_put_text(output, name);
        mc_put_text(output, " ");
        mc_put_text(output, value);
        mc_put_text(output, "\r\n");
    }
    mc_reply_stat(request, NULL, NULL, output);
}

static bool is(const struct mc_request *request, const char *text)
{
    return request->key_size == strlen(text) && memcmp(request->key, text, request->key_size) == 0;
}

bool mc_stats_detail(struct mc_worker *worker, const struct mc_request *request,
                     struct mc_output *output)
{
    bool on = is(request, "detail on");
    if (request->key_size < 6 || memcmp(request->key, "detail", 6) != 0) return false;
    if (is(request, "detail dump")) {
        dump(worker, request, output);
    } else if (!on && !is(request, "detail off")) {
        if (request->form.protocol == MC_BINARY) return false;
        mc_put_text(output, "CLIENT_ERROR usage: stats detail on|off|dump\r\n");
    } else {
        atomic_store(&worker->server->detail, on);
        if (request->form.protocol == MC_BINARY)
            mc_reply_stat(request, NULL, NULL, output);
        else
            mc_put_text(output, "OK\r\n");
    }
    return true;
}
