/* life.c -- one life of the process that does the work: the node is made, its threads run, and it
 * ends in good order. How a life ends by a failure is in failure.c. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include "blocks/cmvmi/cmvmi.h"
#include "ndbmtd/configure.h"
#include "ndbmtd/life.h"
#include "ndbmtd/node_blocks.h"
#include "service/notify.h"
#include "signals/gsn.h"
#include "signals/management.h"
#include "signals/print.h"

/* Within this time a second signal is the same wish, also when the angel does not run at once. */
#define SAME_WISH_NS 5000000000u

static void on_terminate(uv_signal_t *handle, int number)
{
    struct process *process = handle->data;
    process_log(process, LOG_LEVEL_INFO, "Received signal %d: the node stops", number);
    if (process->terminated_ns != 0) {
        /* It is the same wish on two ways, to the angel and to its group; or somebody is in a
         * hurry. */
        if (process_now_ns() - process->terminated_ns < SAME_WISH_NS) return;
        process->host.stopped(&process->host, 0);
        return;
    }
    process->terminated_ns = process_now_ns();
    process->stop_wish = (struct io_request){
        .receiver = block_ref(process->config.own_node, BLOCK_CMVMI, 0), .tag = CMVMI_HOST_STOP};
    node_io_done(process->node, &process->stop_wish);
}

static void lock_memory(struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    if (config_get_u64(own, CFG_NDBD_LockPagesInMainMemory) == 0) return;
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        process_log(process, LOG_LEVEL_WARNING, "LockPagesInMainMemory: %s", strerror(errno));
}

/* The terminal is gone, or was never there: the cluster log tells of it, as of other failures. */
_Noreturn static void cannot_begin(struct process *process, uint32_t exit_code, uint32_t line,
                                   const char *why)
{
    struct node_failure failure = {
        .exit_code = exit_code, .file = __FILE__, .line = line, .text = why};
    process_fail(process, &failure);
}

static void make_node(struct process *process)
{
    char why[256];
    if (configure_node(process, why, sizeof why) != 0)
        cannot_begin(process, EXIT_INVALID_CONFIG, __LINE__, why);
    /* It may be another configuration than the first one, which was looked at in sight of the user. */
    if (memory_fits(process, NULL, why, sizeof why) < 0)
        cannot_begin(process, EXIT_MEMALLOC, __LINE__, why);
    struct node_options options = {
        .host = &process->host, .gsn_name = gsn_name, .describe = signal_describe};
    process->node = node_create(&process->config, &options);
    if (process->node == NULL)
        cannot_begin(process, EXIT_MEMALLOC, __LINE__, "the node's own tables");
    process->config = *node_config_of(process->node);
    process_log(process, LOG_LEVEL_INFO,
                "%u threads, %u LDM and %u TC instances, %u recv and %u send threads, DataMemory "
                "%u MB",
                layout_workers(&process->config), process->config.ldm_count,
                process->config.tc_count, layout_recv_count(&process->config),
                process->config.send_count, process->config.memory.pages_max[RG_DATA] / 32u);
}

int life_run(struct process *process, const struct options *options)
{
    process->start_ns = process_now_ns();
    uv_signal_t terminate[2];
    service_not_watched();
    service_status("Waiting for the configuration");
    if (fetch_patiently(process, options) != 0) return 1;
    angel_tell_settings(process);
    process_catch_faults(process);
    make_node(process);
    if (workers_init(process) != 0) return 1;
    if (host_os_open(process) != 0) return 1;
    uv_loop_t *loop = &workers_first_sockets(process)->loop;
    for (uint32_t i = 0; i < 2; i++) {
        uv_signal_init(loop, &terminate[i]);
        terminate[i].data = process;
        uv_signal_start(&terminate[i], on_terminate, i == 0 ? SIGTERM : SIGINT);
        uv_unref((uv_handle_t *)&terminate[i]);
    }
    lock_memory(process);
    if (files_open(process) != 0) return 1;
    node_blocks_create(process->node);
    int error = port_finder_start(process);
    if (error == 0) error = watchdog_start(process);
    if (error == 0) error = memory_ahead_start(process);
    if (error == 0) error = workers_run(process);
    files_close(process);
    if (error != 0) {
        process_log(process, LOG_LEVEL_ERROR,
                    "A thread could not be started: %s; look at the limits of memory and processes "
                    "(ulimit -v, ulimit -u)",
                    strerror(error));
        return 1;
    }
    process_log(process, LOG_LEVEL_INFO, "Node shutdown completed%s",
                (process->restart_flags & STOP_RESTART) != 0 ? ", restarting" : "");
    angel_tell_end(process, 0, process->restart_flags);
    port_finder_stop(process);
    ndb_mgm_destroy_handle(process->mgm);
    if (options->foreground && (process->restart_flags & STOP_RESTART) != 0 &&
        process->terminated_ns == 0) {
        angel_take_order(process, process->restart_flags);
        again_execute(process, 0);
        process_log(process, LOG_LEVEL_ERROR, "the node cannot be started again: %s",
                    strerror(errno));
        return 1;
    }
    return 0;
}
