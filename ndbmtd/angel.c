/* angel.c -- the process that stands by the data node and starts it again when it should be. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ndbmtd/process.h"
#include "service/notify.h"
#include "signals/management.h"

#define TEMPORARY_PAUSE_S 1u /* Time for the others to end, too. */

/*
 * The child writes its words into a pipe: when it knows its configuration, when the node has
 * started, and when it ends. The last ones count. Without words at the end it was killed, or it
 * ended before there was a node. The angel in turn holds the child's life: when the angel dies, the
 * kernel sends the child SIGTERM and it stops in good order, so that nobody has to look for a data
 * node without a pid file.
 */
static volatile sig_atomic_t child_pid; /* Pid of the child, for the signal handler of the angel. */
static volatile sig_atomic_t asked_to_stop;

/* A signal to the angel is meant for the node. */
static void pass_on(int number)
{
    asked_to_stop = number;
    if (child_pid > 0) kill((pid_t)child_pid, number);
}

static void tell(struct process *process)
{
    if (process->angel_pipe < 0) return;
    struct angel_words words = process->words;
    ssize_t sent = write(process->angel_pipe, &words, sizeof words);
    (void)sent; /* An angel that is gone has no use for it. */
}

void angel_tell_settings(struct process *process)
{
    const struct config_section *own = config_node(process->cluster, process->config.own_node);
    process->words = (struct angel_words){
        .survive = process->config.survive,
        .stop_on_error = (uint32_t)config_get_u64(own, CFG_NDBD_StopOnError),
        .start_retries = (uint32_t)config_get_u64(own, CFG_NDBD_MaxStartFailRetries),
        .retry_delay_s = (uint32_t)config_get_u64(own, CFG_NDBD_StartFailRetryDelay),
    };
    tell(process);
}

void angel_tell_started(struct process *process)
{
    process->words.started = 1;
    process->bare = false;
    tell(process);
}

void angel_tell_end(struct process *process, uint32_t exit_code, uint32_t restart_flags)
{
    process->words.ended = 1;
    process->words.exit_code = exit_code;
    process->words.restart_flags = restart_flags;
    tell(process);
}

/* Listens until the child's end; true when it said how it ended. */
static bool listen_to(struct process *process, int from_child)
{
    struct angel_words words;
    process->words.ended = 0;
    process->words.started = 0;
    for (;;) {
        ssize_t size = read(from_child, &words, sizeof words);
        if (size < 0 && errno == EINTR) continue;
        if (size != (ssize_t)sizeof words) break;
        process->words = words;
    }
    close(from_child);
    return process->words.ended != 0;
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child_pid = 0;
    return status;
}

/*
 * Nothing is wrong with the node: another one was lost while all of them started, or its files are
 * of no use and it gets all rows from others; the start begins again from the first phase, in a new
 * process. Whoever started the nodes wants a cluster,
 * in whatever order they came up and however often one of them had to begin anew.
 */
static bool is_temporary(const struct angel_words *words)
{
    return words->exit_code == EXIT_OTHER_NODE_FAILED || words->exit_code == EXIT_DATA_GIVEN_UP ||
           words->exit_code == EXIT_COPY_DIFFERS ||
           (words->started == 0 && words->exit_code == EXIT_NODE_NOT_DEAD);
}

/*
 * The node has found its own files damaged, and others have its rows: it comes back without them,
 * whatever StopOnError says. The files stay until the others run; if they cannot run without this
 * node nothing is lost by waiting.
 */
static bool is_damaged(const struct process *process)
{
    return process->words.survive != 0 && !process->stand_aside && !process->initial &&
           strcmp(exit_code_class(process->words.exit_code), "damage") == 0;
}

static void learn_from(struct process *process)
{
    if (process->words.started == 0) return;
    /* What --initial asked for has been done; a second time it would destroy what came after it. */
    process->initial = process->accept_data_loss = false;
    process->stand_aside = false;
}

bool angel_in_any_case(struct process *process, uint32_t *pause_s)
{
    const struct angel_words *words = &process->words;
    learn_from(process);
    if (is_damaged(process)) {
        process_log(process, LOG_LEVEL_WARNING,
                    "the data node begins again: it gets all rows from the others");
        process->stand_aside = true;
        *pause_s = TEMPORARY_PAUSE_S;
        return true;
    }
    if (!is_temporary(words)) return false;
    *pause_s = words->retry_delay_s > TEMPORARY_PAUSE_S ? words->retry_delay_s : TEMPORARY_PAUSE_S;
    return true;
}

/* Says after a failure whether the node is started again, and after how many seconds. */
static bool try_again(struct process *process, bool told, uint32_t *pause_s)
{
    const struct angel_words *words = &process->words;
    if (asked_to_stop != 0) return false;
    learn_from(process);
    if (told && angel_in_any_case(process, pause_s)) return true;
    if (words->stop_on_error != 0) {
        process_log(process, LOG_LEVEL_INFO,
                    "StopOnError is on: the data node is not started again by itself");
        return false;
    }
    process->failed_starts = words->started != 0 ? 0 : process->failed_starts + 1;
    *pause_s = process->failed_starts > 0 ? words->retry_delay_s : 0;
    if (words->start_retries == 0 || process->failed_starts <= words->start_retries) return true;
    process_log(process, LOG_LEVEL_ALERT,
                "the data node failed %u starts one after the other: MaxStartFailRetries=%u",
                process->failed_starts, words->start_retries);
    return false;
}

void angel_take_order(struct process *process, uint32_t restart_flags)
{
    process->no_start = (restart_flags & STOP_NO_START) != 0;
    process->initial = (restart_flags & STOP_INITIAL) != 0;
    process->accept_data_loss = process->initial && (restart_flags & STOP_FORCE) != 0;
    process->stand_aside = false;
}

/* The last word was that the node is started again; or its child had none yet. */
static void tell_stopped(void)
{
    service_notify("STOPPING=1\nSTATUS=The data node is stopped");
}

enum verdict { LIVE_AGAIN, END_WELL, END_FAILED };

static enum verdict judge(struct process *process, bool told, int status, uint32_t *pause_s)
{
    const struct angel_words *words = &process->words;
    uint32_t number = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
    if (told && words->exit_code == 0) {
        angel_take_order(process, words->restart_flags);
        process->failed_starts = 0;
        return (words->restart_flags & STOP_RESTART) != 0 && asked_to_stop == 0 ? LIVE_AGAIN
                                                                                : END_WELL;
    }
    if (number != 0 &&
        asked_to_stop == (sig_atomic_t)number) { /* It came before the node could catch it. */
        process_log(process, LOG_LEVEL_INFO,
                    "Received signal %u while the node began: it has ended", number);
        tell_stopped();
        return END_WELL;
    }
    if (number != 0) {
        process_log(process, LOG_LEVEL_ALERT, "the data node was ended by signal %u (%s): %s",
                    number, strsignal((int)number), exit_code_text(EXIT_OS_SIGNAL));
    }
    bool again = try_again(process, told, pause_s);
    if (told || number != 0) {
        process_report_failure(process, again ? STOP_RESTART : 0, number,
                               told ? words->exit_code : EXIT_OS_SIGNAL);
    } else { /* It has said why in its log only. */
        process_report_failure(process, again ? STOP_RESTART : 0, 0, EXIT_GENERIC);
        service_notify("STATUS=The data node %s, and is %s: its log says why",
                       words->started != 0 ? "has ended" : "could not begin",
                       again ? "started again" : "not started again");
    }
    return again ? LIVE_AGAIN : END_FAILED;
}

/* In the child: the angel's end ends it, too. */
static void become_child(struct process *process, pid_t angel, int pipe_end,
                         const sigset_t *signals)
{
    process->angel_pipe = pipe_end;
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != angel) _exit(EXIT_FAILURE); /* It died before the line above. */
    sigprocmask(SIG_SETMASK, signals, NULL);
}

_Noreturn static void end(struct process *process, int code)
{
    remove_pid_file(process);
    _exit(code);
}

/* Begins again with the program that lies under the path now, or with this one. A signal that comes
 * meanwhile waits for the one that goes on. */
static void begin_again(struct process *process, const sigset_t *signals, const sigset_t *before)
{
    process_log(process, LOG_LEVEL_INFO, "the angel starts the data node again");
    sigprocmask(SIG_BLOCK, signals, NULL);
    if (asked_to_stop == 0) again_upgrade(process, true);
    sigprocmask(SIG_SETMASK, before, NULL);
    if (asked_to_stop != 0) {
        tell_stopped();
        end(process, EXIT_SUCCESS);
    }
}

int angel_run(struct process *process)
{
    pid_t angel = getpid();
    sigset_t ours;
    sigset_t before;
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    for (;;) {
        int ends[2];
        sigprocmask(SIG_BLOCK, &ours, &before); /* Until child_pid is known. */
        sigdelset(&before, SIGTERM);            /* A former angel has left them blocked. */
        sigdelset(&before, SIGINT);
        if (pipe(ends) != 0) return -1;
        pid_t pid = fork();
        if (pid < 0) return -1;
        if (pid == 0) {
            close(ends[0]);
            become_child(process, angel, ends[1], &before);
            return 0;
        }
        close(ends[1]);
        child_pid = pid;
        signal(SIGTERM, pass_on);
        signal(SIGINT, pass_on);
        sigprocmask(SIG_SETMASK, &before, NULL);
        bool told = listen_to(process, ends[0]);
        service_not_watched(); /* Until the next child looks at its threads. */
        uint32_t pause_s = 0;
        enum verdict verdict = judge(process, told, wait_for(pid), &pause_s);
        if (verdict == LIVE_AGAIN && pause_s > 0) sleep(pause_s); /* A signal ends it. */
        if (verdict == LIVE_AGAIN && asked_to_stop != 0) tell_stopped();
        if (verdict != LIVE_AGAIN || asked_to_stop != 0)
            end(process, verdict == END_FAILED ? EXIT_FAILURE : EXIT_SUCCESS);
        begin_again(process, &ours, &before);
    }
}
