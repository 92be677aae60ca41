/* angel.c -- the process that stands by the data node and starts it again when it should be. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ndbmtd/process.h"
#include "signals/management.h"

/* What the child says when it ends. Nothing: it was killed. */
struct last_words {
    uint32_t exit_code;
    uint32_t restart_flags;
    uint32_t stop_on_error;
};

static volatile sig_atomic_t child_pid; /* For the signal handler of the angel. */

/* A signal to the angel is meant for the node. */
static void pass_on(int number)
{
    if (child_pid > 0) kill((pid_t)child_pid, number);
}

void angel_tell(struct process *process, uint32_t exit_code, uint32_t restart_flags)
{
    if (process->angel_pipe < 0) return;
    uint32_t stop_on_error = 1;
    if (process->cluster != NULL) {
        const struct config_section *own = config_node(process->cluster, process->config.own_node);
        if (own != NULL) stop_on_error = (uint32_t)config_get_u64(own, CFG_NDBD_StopOnError);
    }
    struct last_words words = {exit_code, restart_flags, stop_on_error};
    if (write(process->angel_pipe, &words, sizeof words) != (ssize_t)sizeof words) return; /* Nobody listens. */
}

/* Waits for the child's end. True when it should live again. */
static bool wait_for_child(struct process *process, int from_child, pid_t pid, int *status)
{
    struct last_words words;
    bool told = read(from_child, &words, sizeof words) == (ssize_t)sizeof words;
    close(from_child);
    while (waitpid(pid, status, 0) < 0) {
    }
    if (told && words.exit_code == 0) {
        process->no_start = (words.restart_flags & STOP_NO_START) != 0;
        process->initial = (words.restart_flags & STOP_INITIAL) != 0;
        return (words.restart_flags & STOP_RESTART) != 0;
    }
    if (WIFSIGNALED(*status)) {
        process_log(process, LOG_LEVEL_ALERT, "the data node was ended by signal %d (%s): %s", WTERMSIG(*status),
                    strsignal(WTERMSIG(*status)), exit_code_text(EXIT_OS_SIGNAL));
    }
    return told && words.stop_on_error == 0;
}

int angel_run(struct process *process)
{
    for (;;) {
        int ends[2];
        if (pipe(ends) != 0) return -1;
        pid_t pid = fork();
        if (pid < 0) return -1;
        if (pid == 0) {
            close(ends[0]);
            process->angel_pipe = ends[1];
            signal(SIGTERM, SIG_DFL);
            signal(SIGINT, SIG_DFL);
            return 0;
        }
        close(ends[1]);
        child_pid = pid;
        signal(SIGTERM, pass_on);
        signal(SIGINT, pass_on);
        int status = 0;
        if (!wait_for_child(process, ends[0], pid, &status)) {
            remove_pid_file(process);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
        }
        process_log(process, LOG_LEVEL_INFO, "the angel starts the data node again");
    }
}
