/* again.c -- a node that begins again: without an angel in its own process, and with one or without
 * by the program that lies under the program's path by then. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whoever watches a process in the foreground sees the same one go on: the program is executed
 * again with the same arguments and one more, which says what an angel would remember. What the
 * system keeps with a process, and what was the failed thread's own, is set back.
 *
 * An upgrade puts another file under the program's path. The next life is that one's: an angel, or
 * the new life of a process in the foreground, executes it in its place, under the same process id,
 * with the same arguments and the one more. Before, the file is run with all of them and --version:
 * a file that has gone, is no program, lacks a library, or is of a version that does not know these
 * arguments ends nobody. The node goes on with the program that it has then.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ndbmtd/process.h"

/* Another name whenever the form of its value changes: a program that does not know the name is not
 * begun. */
#define AGAIN_OPTION "--next-life="
#define OWN_IMAGE    "/proc/self/exe" /* This very program, also when its file has gone. */
#define ARGUMENTS    256              /* Arguments that are passed on, at most. */
#define PATH_ROOM    4096
#define TEXT_ROOM    (PATH_ROOM + 128)
#define PROGRAM_NAME "ndbmtd"
#define TRIAL_S      20 /* The trial of a file takes no longer. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* Flags that count instead of the options of the first life. */
enum again_flag {
    AGAIN_ASIDE = 1,
    AGAIN_INITIAL = 2,
    AGAIN_ACCEPT = 4,
    AGAIN_NO_START = 8,
    AGAIN_ANGEL = 16, /* The next life is an angel's; the next two flags are what it has heard. */
    AGAIN_SURVIVE = 32,
    AGAIN_STOP_ON_ERROR = 64,
    AGAIN_TAKEN = 128, /* The program has been looked for under its path. */
};
#define AGAIN_ALL 255u

static struct birth {
    char **arguments; /* Arguments of the program; NULL: the process may not begin again. */
    bool foreground;
    char path[PATH_ROOM]; /* Absolute path by which the program was called; "": not known. */
    struct stat file;     /* File of the program that runs. */
    cpu_set_t cpus;
    bool has_cpus;
    int nice; /* Nice value of a thread, not of the process: thread_place.c. */
} birth;

/* The path by which the program was found, not the file behind it: a link may lead to the next
 * version. What has executed its own image has its path as its name. */
static bool find_path(const char *name)
{
    const char *called = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    char here[PATH_ROOM];
    if (called == NULL || strcmp(called, OWN_IMAGE) == 0) {
        if (stat(OWN_IMAGE, &birth.file) != 0) return false;
        ssize_t size = name[0] == '/' ? snprintf(birth.path, sizeof birth.path, "%s", name)
                                      : readlink(OWN_IMAGE, birth.path, sizeof birth.path - 1);
        return size > 0 && (size_t)size < sizeof birth.path;
    }
    if (stat(called, &birth.file) != 0) return false;
    here[0] = '\0';
    if (called[0] != '/' && getcwd(here, sizeof here) == NULL) return false;
    int size =
        snprintf(birth.path, sizeof birth.path, "%s%s%s", here, here[0] == '\0' ? "" : "/", called);
    return (size_t)size < sizeof birth.path;
}

void again_remember(char **arguments, bool foreground)
{
    birth.arguments = arguments;
    birth.foreground = foreground;
    birth.has_cpus = sched_getaffinity(0, sizeof birth.cpus, &birth.cpus) == 0;
    birth.nice = getpriority(PRIO_PROCESS, 0);
    if (!find_path(arguments[0])) birth.path[0] = '\0';
}

/* The number before the next colon; false: there is none. */
static bool next_number(const char **text, uint32_t max, uint32_t *number)
{
    char *end = NULL;
    errno = 0;
    unsigned long value = strtoul(*text, &end, 10);
    if (errno != 0 || end == *text || *end != ':' || value > max) return false;
    *number = (uint32_t)value;
    *text = end + 1;
    return true;
}

bool again_parse(struct again *again, const char *text)
{
    *again = (struct again){0};
    if (!next_number(&text, AGAIN_ALL, &again->flags) ||
        !next_number(&text, UINT32_MAX, &again->pause_s) ||
        !next_number(&text, DATA_NODE_ID_MAX, &again->node) ||
        !next_number(&text, INT32_MAX, &again->pid_file) ||
        !next_number(&text, UINT32_MAX, &again->failed_starts) ||
        !next_number(&text, UINT32_MAX, &again->start_retries) ||
        !next_number(&text, UINT32_MAX, &again->retry_delay_s) || again->node == 0)
        return false;
    again->angel = (again->flags & AGAIN_ANGEL) != 0;
    again->taken = (again->flags & AGAIN_TAKEN) != 0;
    again->data_dir = text;
    return again->angel == (*text != '\0');
}

int again_take(struct process *process, const struct again *again)
{
    uint32_t flags = again->flags;
    process->config.own_node = again->node;
    process->stand_aside = (flags & AGAIN_ASIDE) != 0;
    process->initial = (flags & AGAIN_INITIAL) != 0;
    process->accept_data_loss = (flags & AGAIN_ACCEPT) != 0;
    process->no_start = (flags & AGAIN_NO_START) != 0;
    process->pause_s = again->pause_s;
    if (!again->angel) return 0;
    process->words.survive = (flags & AGAIN_SURVIVE) != 0;
    process->words.stop_on_error = (flags & AGAIN_STOP_ON_ERROR) != 0;
    process->words.start_retries = again->start_retries;
    process->words.retry_delay_s = again->retry_delay_s;
    process->failed_starts = again->failed_starts;
    process->data_dir = again->data_dir;
    process->pid_file = (int)again->pid_file;
    return fcntl(process->pid_file, F_SETFD, FD_CLOEXEC);
}

/* What the next life has to know. */
static void put_life(const struct process *process, bool angel, bool taken, uint32_t pause_s,
                     char *text, size_t size)
{
    const struct angel_words *words = &process->words;
    uint32_t flags = (process->stand_aside ? AGAIN_ASIDE : 0u) |
                     (process->initial ? AGAIN_INITIAL : 0u) |
                     (process->accept_data_loss ? AGAIN_ACCEPT : 0u) |
                     (process->no_start ? AGAIN_NO_START : 0u) | (angel ? AGAIN_ANGEL : 0u) |
                     (angel && words->survive != 0 ? AGAIN_SURVIVE : 0u) |
                     (angel && words->stop_on_error != 0 ? AGAIN_STOP_ON_ERROR : 0u) |
                     (taken ? AGAIN_TAKEN : 0u);
    (void)snprintf(text, size, AGAIN_OPTION "%u:%u:%u:%u:%u:%u:%u:%s", flags, pause_s,
                   process->config.own_node, angel ? (uint32_t)process->pid_file : 0u,
                   angel ? process->failed_starts : 0u, angel ? words->start_retries : 0u,
                   angel ? words->retry_delay_s : 0u, angel ? process->data_dir : "");
}

/* Those of the first life with `more` before them and, if it is not NULL, `last` behind the
 * options. `arguments` has room for three beside ARGUMENTS. False: there are too many. */
static bool put_arguments(char **arguments, char *more, char *last)
{
    int count = 0;
    arguments[count++] = birth.path[0] != '\0' ? birth.path : birth.arguments[0];
    arguments[count++] = more;
    for (char **one = birth.arguments + 1; *one != NULL; one++) {
        if (strncmp(*one, AGAIN_OPTION, sizeof AGAIN_OPTION - 1) == 0) continue;
        if (count == ARGUMENTS) return false;
        if (last != NULL && strcmp(*one, "--") == 0) {
            arguments[count++] = last;
            last = NULL;
        }
        arguments[count++] = *one;
    }
    if (last != NULL) arguments[count++] = last;
    arguments[count] = NULL;
    return true;
}

void again_execute(struct process *process, uint32_t pause_s)
{
    const struct sched_param ordinary = {.sched_priority = 0};
    char *arguments[ARGUMENTS + 3];
    char life[TEXT_ROOM];
    sigset_t none;
    if (birth.arguments == NULL || !birth.foreground) return;
    put_life(process, false, false, pause_s, life, sizeof life);
    if (!put_arguments(arguments, life, NULL)) return;
    (void)sched_setscheduler(0, SCHED_OTHER, &ordinary);
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), birth.nice);
    if (birth.has_cpus) (void)sched_setaffinity(0, sizeof birth.cpus, &birth.cpus);
    sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    (void)fflush(NULL); /* Another thread may hold a stream for ever: the alarm ends that. */
    (void)alarm(0);
    (void)execv(OWN_IMAGE, arguments);
}

/* --- The program under the path. --- */

/* Is there another file, if one at all? */
static bool is_replaced(struct process *process)
{
    struct stat file;
    if (birth.arguments == NULL || birth.path[0] == '\0') return false;
    if (stat(birth.path, &file) != 0) {
        process_log(process, LOG_LEVEL_WARNING,
                    "%s: %s: the node goes on with the program that it was started from",
                    birth.path, strerror(errno));
        return false;
    }
    return file.st_dev != birth.file.st_dev || file.st_ino != birth.file.st_ino;
}

_Noreturn static void become_trial(struct process *process, char **arguments, int out)
{
    (void)dup2(out, STDOUT_FILENO); /* What it has to say against it comes by the other way. */
    (void)alarm(TRIAL_S);
    (void)execv(birth.path, arguments);
    process_log(process, LOG_LEVEL_ERROR, "%s: %s", birth.path, strerror(errno));
    _exit(EXIT_FAILURE);
}

/* Did it say that it is this program, in whatever version? Others end with 0 as well. */
static bool says_its_name(int out)
{
    char text[sizeof PROGRAM_NAME];
    return pread(out, text, sizeof text, 0) == (ssize_t)sizeof text &&
           memcmp(text, PROGRAM_NAME " ", sizeof text) == 0;
}

/* Where the trial writes. It is never executed, and where kernels are strict that has to be said;
 * older ones do not know the word. (Linux: memfd_create(2).) */
static int trial_output(void)
{
    int out = memfd_create("trial", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    return out >= 0 || errno != EINVAL ? out : memfd_create("trial", MFD_CLOEXEC);
}

/* Does the file start, and does it know what it will be told? */
static bool passes_trial(struct process *process, char **arguments)
{
    int status = 0;
    int out = trial_output();
    if (out < 0) {
        process_log(
            process, LOG_LEVEL_WARNING,
            "%s was replaced, and cannot be tried (memfd_create: %s): the node goes on with "
            "the program that it was started from",
            birth.path, strerror(errno));
        return false;
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) become_trial(process, arguments, out);
    if (child > 0) {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    bool ended = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    bool named = ended && says_its_name(out);
    (void)close(out);
    if (named) return true;
    process_log(
        process, LOG_LEVEL_WARNING,
        "%s was replaced, and cannot take over from the running node (%s %d with --version%s): "
        "the node goes on with the program that it was started from",
        birth.path, WIFSIGNALED(status) ? "signal" : "exit code",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
        ended ? ", where it does not say that it is " PROGRAM_NAME : "");
    return false;
}

void again_upgrade(struct process *process, bool angel)
{
    static char version[] = "--version";
    char *arguments[ARGUMENTS + 3];
    char life[TEXT_ROOM];
    if (!is_replaced(process)) return;
    put_life(process, angel, true, process->pause_s, life, sizeof life);
    if (!put_arguments(arguments, life, version) || !passes_trial(process, arguments)) return;
    (void)put_arguments(arguments, life, NULL);
    process_log(process, LOG_LEVEL_INFO, "the program has been replaced: the node goes on with %s",
                birth.path);
    (void)fflush(NULL);
    if (angel) (void)fcntl(process->pid_file, F_SETFD, 0); /* The lock goes with it. */
    (void)execv(birth.path, arguments);
    process_log(process, LOG_LEVEL_ERROR, "%s: %s", birth.path, strerror(errno));
    if (angel) (void)fcntl(process->pid_file, F_SETFD, FD_CLOEXEC);
}
