/* cmvmi_threads.c -- tells what the threads of the process have done so far. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host counts, in its threads; who asks twice knows what happened between. In the simulator
 * there is nothing to tell.
 */
#include <string.h>
#include "blocks/cmvmi/cmvmi_state.h"
#include "kernel/base/u64.h"

#define USE_WORDS (sizeof(struct thread_use) / 4u)

static_assert(sizeof(((struct thread_times *)0)->name) == THREAD_NAME_BYTES, "one size");

static struct thread_use use_of(const struct thread_times *times)
{
    struct thread_use use;
    u64_put(use.at, times->at_us);
    u64_put(use.user, times->user_us);
    u64_put(use.system, times->system_us);
    u64_put(use.work, times->work_us);
    u64_put(use.spin, times->spin_us);
    u64_put(use.sleep, times->sleep_us);
    memcpy(use.name, times->name, sizeof(use.name));
    return use;
}

void cmvmi_exec_THREAD_REPORT_REQ(struct block *block, const struct signal *sig)
{
    uint32_t words[THREAD_USES_MAX * USE_WORDS];
    struct thread_report_conf conf = {.sender_data =
                                          SIG_PAYLOAD(sig, thread_report_req)->sender_data};
    struct thread_times times;
    jam();
    while (conf.threads < THREAD_USES_MAX && node_thread_times(block, conf.threads, &times)) {
        const struct thread_use use = use_of(&times);
        memcpy(words + conf.threads++ * USE_WORDS, &use, sizeof use);
    }
    struct section section = {.words = words, .size = (uint32_t)(conf.threads * USE_WORDS)};
    signal_send(block, sig->sender, GSN_THREAD_REPORT_CONF, PRIO_B, &conf, sizeof(conf) / 4u,
                &section, conf.threads == 0 ? 0 : 1);
}
