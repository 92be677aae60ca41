/* cmvmi_memory.c -- tells how much memory is used, and by what. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows and hash index share the pages of DataMemory. The TUP instances are asked, one after the
 * other, how many hold rows; the rest of the pages in use is index. So the two figures always add
 * up to what the arena says.
 */
#include "blocks/cmvmi/cmvmi_state.h"

static struct resource_usage data_usage(const struct cmvmi *cmvmi)
{
    return arena_usage(block_arena(&cmvmi->block), RG_DATA);
}

/* Pages that hold rows by the last count; never more than are in use now. */
static uint32_t row_pages(const struct cmvmi *cmvmi)
{
    uint32_t used = data_usage(cmvmi).used;
    return cmvmi->memory.last_row_pages < used ? cmvmi->memory.last_row_pages : used;
}

static void send_report(struct cmvmi *cmvmi, const struct memory_asker *asker)
{
    struct memory_report_conf conf = {
        .sender_data = asker->sender_data, .page_size = PAGE_SIZE_BYTES, .groups = RG_COUNT};
    uint32_t words[RG_COUNT * 5u + 2u];
    jam();
    for (uint32_t group = 0; group < RG_COUNT; group++) {
        struct resource_usage usage =
            arena_usage(block_arena(&cmvmi->block), (enum resource_group)group);
        uint32_t *at = words + group * 5u;
        at[0] = usage.used;
        at[1] = usage.max;
        at[2] = usage.reserved;
        at[3] = usage.high;
        at[4] = usage.failed;
    }
    uint32_t used = words[RG_DATA * 5u];
    uint32_t rows = cmvmi->memory.last_row_pages < used ? cmvmi->memory.last_row_pages : used;
    words[RG_COUNT * 5u] = rows;
    words[RG_COUNT * 5u + 1u] = used - rows;
    struct section section = {.words = words, .size = RG_COUNT * 5u + 2u};
    signal_send(&cmvmi->block, asker->ref, GSN_MEMORY_REPORT_CONF, PRIO_B, &conf, sizeof(conf) / 4u,
                &section, 1);
}

/* Words of the event: change (0 is, 1 increased to, -1 decreased to), page size twice, used, total,
 * block. */
static void send_usage(struct cmvmi *cmvmi, uint32_t change, uint32_t used, uint32_t total,
                       uint32_t block_no)
{
    event_send(&cmvmi->block, EVENT_MEMORY_USAGE, change, PAGE_SIZE_BYTES / 1024u, PAGE_SIZE_BYTES,
               used, total, block_no);
}

/* What one of the two does not use, the other may. */
static void send_events(struct cmvmi *cmvmi)
{
    struct resource_usage usage = data_usage(cmvmi);
    uint32_t rows = row_pages(cmvmi);
    uint32_t index = usage.used - rows;
    jam();
    send_usage(cmvmi, 0, rows, usage.max - index, BLOCK_DBTUP);
    send_usage(cmvmi, 0, index, usage.max - rows, BLOCK_DBACC);
}

static void answer(struct cmvmi *cmvmi, const struct memory_asker *asker)
{
    if (asker->ref == 0)
        send_events(cmvmi);
    else
        send_report(cmvmi, asker);
}

static void ask_ldm(struct cmvmi *cmvmi, uint32_t position)
{
    struct ldm_memory_req req = {.sender_data = cmvmi->memory.instance, .position = position};
    sig_send(&cmvmi->block, cmvmi_local(cmvmi, BLOCK_DBTUP) + cmvmi->memory.instance,
             GSN_LDM_MEMORY_REQ, PRIO_B, &req);
}

/* The next TUP instance, or the answers. */
static void next_ldm(struct cmvmi *cmvmi)
{
    if (cmvmi->memory.instance < block_instances(&cmvmi->block, BLOCK_DBTUP)) {
        jam();
        cmvmi->memory.instance++;
        ask_ldm(cmvmi, 0);
        return;
    }
    jam();
    cmvmi->memory.running = 0;
    cmvmi->memory.last_row_pages = cmvmi->memory.row_pages;
    for (uint32_t i = 0; i < cmvmi->memory.waiting; i++)
        answer(cmvmi, &cmvmi->memory.asker[i]);
    cmvmi->memory.waiting = 0;
}

static void count_for(struct cmvmi *cmvmi, const struct memory_asker *asker)
{
    if (cmvmi->memory.waiting == MEMORY_ASKERS) {
        jam();
        answer(cmvmi, asker);
        return;
    }
    cmvmi->memory.asker[cmvmi->memory.waiting++] = *asker;
    if (cmvmi->memory.running) return;
    jam();
    cmvmi->memory.running = 1;
    cmvmi->memory.instance = 0;
    cmvmi->memory.row_pages = 0;
    next_ldm(cmvmi);
}

void cmvmi_exec_LDM_MEMORY_CONF(struct block *block, const struct signal *sig)
{
    struct cmvmi *cmvmi = cmvmi_of(block);
    const struct ldm_memory_conf *conf = SIG_PAYLOAD(sig, ldm_memory_conf);
    ndbrequire(cmvmi->memory.running && conf->sender_data == cmvmi->memory.instance);
    cmvmi->memory.row_pages += conf->row_pages;
    if (conf->next != 0)
        ask_ldm(cmvmi, conf->next);
    else
        next_ldm(cmvmi);
}

void cmvmi_exec_MEMORY_REPORT_REQ(struct block *block, const struct signal *sig)
{
    struct memory_asker asker = {.ref = sig->sender,
                                 .sender_data = SIG_PAYLOAD(sig, memory_report_req)->sender_data};
    count_for(cmvmi_of(block), &asker);
}

void cmvmi_memory_dump(struct cmvmi *cmvmi)
{
    struct memory_asker asker = {.ref = 0};
    count_for(cmvmi, &asker);
}

void cmvmi_memory_tick(struct cmvmi *cmvmi)
{
    static const uint32_t thresholds[] = {80, 90, 95, 99, 100};
    struct resource_usage usage = data_usage(cmvmi);
    uint32_t step = 0;
    for (uint32_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
        if ((uint64_t)usage.used * 100u >= (uint64_t)usage.max * thresholds[i] && usage.max > 0)
            step = i + 1;
    }
    if (step == cmvmi->memory_step) return;
    jam_data(step);
    send_usage(cmvmi, step > cmvmi->memory_step ? 1u : (uint32_t)-1, usage.used, usage.max,
               BLOCK_DBTUP);
    cmvmi->memory_step = step;
}
