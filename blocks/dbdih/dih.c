/* dih.c -- creates DBDIH, learns the members, answers the dictionary's questions about
 * distribution. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "blocks/dbdih/dih_state.h"
#include "signals/errors.h"
#include "signals/management.h"

static void dih_exec_READ_CONFIG_REQ(struct block *block, const struct signal *sig)
{
    struct read_config_conf conf = {.sender_data = SIG_PAYLOAD(sig, read_config_req)->sender_data};
    jam();
    sig_send(block, sig->sender, GSN_READ_CONFIG_CONF, PRIO_B, &conf);
}

static void dih_exec_MEMBERS_REP(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct members_rep *rep = SIG_PAYLOAD(sig, members_rep);
    const struct section *list = &sig->section[0];
    ndbrequire(list->size % MEMBER_WORDS == 0);
    jam();
    dih->members = rep->members;
    for (uint32_t at = 0; at < list->size; at += MEMBER_WORDS) {
        uint32_t node = list->words[at];
        uint32_t ldm_count = list->words[at + 2];
        ndbrequire(node <= NODE_ID_MAX);
        dih->ldm_count[node] = ldm_count == 0 ? 1 : ldm_count;
    }
    dih_form_groups(dih);
    log_info(block, "%u node groups", dih->groups);
}

static void dih_exec_CREATE_FRAG_REQ(struct block *block, const struct signal *sig)
{
    struct dih *dih = dih_of(block);
    const struct create_frag_req *req = SIG_PAYLOAD(sig, create_frag_req);
    uint32_t fragments = dih_fragment_count(dih, (int32_t)req->balance, req->fragment_count);
    if (fragments == 0 || fragments > TABLE_FRAGMENTS_MAX || ERROR_INSERTED(block, 7001)) {
        jam();
        struct create_frag_ref ref = {.sender_data = req->sender_data,
                                      .error = ERR_TOO_MANY_FRAGMENTS};
        sig_send(block, sig->sender, GSN_CREATE_FRAG_REF, PRIO_B, &ref);
        return;
    }
    jam();
    struct section section = {.words = dih->words, .size = dih_place(dih, fragments)};
    struct create_frag_conf conf = {.sender_data = req->sender_data, .fragment_count = fragments};
    signal_send(block, sig->sender, GSN_CREATE_FRAG_CONF, PRIO_B, &conf, sizeof(conf) / 4u,
                &section, 1);
}

/* DUMP 16: node groups. */
static void dih_exec_DUMP_STATE_ORD(struct block *block, const struct signal *sig)
{
    const struct dih *dih = dih_of(block);
    (void)sig;
    jam();
    for (uint32_t group = 0; group < dih->groups; group++) {
        for (uint32_t i = 0; i < dih->group[group].count; i++) {
            uint32_t node = dih->group[group].node[i];
            log_info(block, "node group %u: node %u, %u LDM instances", group, node,
                     dih->ldm_count[node]);
        }
    }
}

static const struct handler dih_handlers[] = {
    HANDLER(dih, READ_CONFIG_REQ, read_config_req),
    HANDLER(dih, MEMBERS_REP, members_rep),
    HANDLER(dih, CREATE_FRAG_REQ, create_frag_req),
    HANDLER(dih, DUMP_STATE_ORD, dump_state_ord),
};

static const struct block_type dih_type = {
    .name = "DBDIH",
    .block_no = BLOCK_DBDIH,
    .handlers = dih_handlers,
    .handler_count = sizeof(dih_handlers) / sizeof(dih_handlers[0]),
};

struct block *dih_create(struct thread *thread, uint32_t instance)
{
    return block_create(thread, &dih_type, instance, sizeof(struct dih));
}
