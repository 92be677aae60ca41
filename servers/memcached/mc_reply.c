/* mc_reply.c -- results to bytes, by protocol. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_parse.h"

void mc_reply(const struct mc_request *request, uint32_t now, struct mc_output *output)
{
    switch (request->form.protocol) {
    case MC_TEXT:
        mc_text_reply(request, output);
        break;
    case MC_META:
        mc_meta_reply(request, now, output);
        break;
    case MC_BINARY:
        mc_binary_reply(request, output);
        break;
    }
}

void mc_reply_stat(const struct mc_request *request, const char *name, const char *value,
                   struct mc_output *output)
{
    if (request->form.protocol == MC_BINARY) {
        mc_binary_reply_stat(request, name, value, output);
    } else {
        mc_text_reply_stat(name, value, output);
    }
}
