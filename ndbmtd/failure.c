/* failure.c -- the node's log, and what a failing node leaves behind: error log entry and a trace
 * file per thread. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ndbmtd/process.h"
#include "service/log_follow.h"
#include "service/notify.h"
#include "signals/management.h"

/* Bytes of the error log that are kept; an entry has about 700. */
#define ERROR_LOG_MAX (256u * 1024u)
/* A failure that cannot be written down by then ends the process all the same. */
#define FAIL_SECONDS 30u

struct exit_text {
    uint32_t code;
    const char *klass;
    const char *text;
};

#define EXIT_CODE(number, name, klass, text) {(number), (klass), (text)},
static const struct exit_text exit_texts[] = {
#include "kernel/exit_codes.def"
};
#undef EXIT_CODE

static const struct exit_text *find_exit(uint32_t code)
{
    for (size_t i = 0; i < sizeof exit_texts / sizeof exit_texts[0]; i++) {
        if (exit_texts[i].code == code) return &exit_texts[i];
    }
    return NULL;
}

const char *exit_code_text(uint32_t code)
{
    const struct exit_text *found = find_exit(code);
    return found != NULL ? found->text : "Unknown exit code; see the error log";
}

const char *exit_code_class(uint32_t code)
{
    const struct exit_text *found = find_exit(code);
    return found != NULL ? found->klass : "internal";
}

/* Base names are unique in the source. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void timestamp(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(text, size, "%Y-%m-%d %H:%M:%S", &local);
}

void process_log_path(const struct process *process, char *path, size_t size)
{
    snprintf(path, size, "%s/ndb_%u_out.log", process->data_dir, process->config.own_node);
}

void process_log(struct process *process, enum log_level level, const char *format, ...)
{
    static const char *const names[] = {"", "DEBUG", "INFO", "WARNING", "ERROR", "ALERT"};
    char when[32];
    char path[4096];
    va_list arguments;
    timestamp(when, sizeof when);
    process_log_path(process, path, sizeof path);
    pthread_mutex_lock(&process->log_lock);
    if (process->log != NULL) log_follow(fileno(process->log), path);
    FILE *to = process->log != NULL ? process->log : stderr;
    fprintf(to, "%s [ndbd] %-8s -- ", when, names[level]);
    va_start(arguments, format);
    vfprintf(to, format, arguments);
    va_end(arguments);
    fputc('\n', to);
    fflush(to);
    pthread_mutex_unlock(&process->log_lock);
}

static FILE *open_in_data_dir(struct process *process, const char *mode, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static FILE *open_in_data_dir(struct process *process, const char *mode, const char *format, ...)
{
    char name[128];
    char path[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    snprintf(path, sizeof path, "%s/ndb_%u_%s", process->data_dir, process->config.own_node, name);
    return fopen(path, mode);
}

/* Trace numbers count up over the lives of a node and start again after `traces_kept`. */
static uint32_t next_trace_no(struct process *process)
{
    uint32_t no = 0;
    FILE *file = open_in_data_dir(process, "r", "trace.log.next");
    if (file != NULL) {
        if (fscanf(file, "%u", &no) != 1) no = 0;
        fclose(file);
    }
    no = no % process->traces_kept + 1;
    file = open_in_data_dir(process, "w", "trace.log.next");
    if (file != NULL) {
        fprintf(file, "%u\n", no);
        fclose(file);
    }
    return no;
}

static void put_to_file(void *context, const char *text, uint32_t size)
{
    fwrite(text, 1, size, context);
}

static void remove_from_data_dir(struct process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void remove_from_data_dir(struct process *process, const char *format, ...)
{
    char name[128];
    char path[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    snprintf(path, sizeof path, "%s/ndb_%u_%s", process->data_dir, process->config.own_node, name);
    unlink(path);
}

static void write_traces(struct process *process, uint32_t trace_no)
{
    uint32_t threads = process->config.thread_count;
    for (uint32_t no = 0; no < threads; no++) {
        FILE *file = no == 0 ? open_in_data_dir(process, "w", "trace.log.%u", trace_no)
                             : open_in_data_dir(process, "w", "trace.log.%u_t%u", trace_no, no);
        if (file == NULL) continue;
        fprintf(file, "thread %u (%s): last signals, newest first\n", no,
                layout_role_name(layout_role(&process->config, no)));
        thread_trace(node_thread(process->node, no), put_to_file, file);
        fclose(file);
    }
    for (uint32_t no = threads; no < THREADS_MAX; no++) /* A former life had more threads. */
        remove_from_data_dir(process, "trace.log.%u_t%u", trace_no, no);
}

/* Where the last `entries` entries of the error log begin. */
static const char *last_entries(const char *text, size_t size, uint32_t entries)
{
    static const char mark[] = "***EOM***\n\n";
    const size_t mark_size = sizeof mark - 1;
    uint32_t found = 0;
    for (size_t at = size; at >= mark_size; at--) {
        if (memcmp(text + at - mark_size, mark, mark_size) == 0 && found++ == entries)
            return text + at;
    }
    return text;
}

/* Drops the oldest entries, so that with one more there are `traces_kept`. */
static void shorten_error_log(struct process *process)
{
    static char text[ERROR_LOG_MAX];
    FILE *file = open_in_data_dir(process, "r", "error.log");
    if (file == NULL) return;
    fseek(file, 0, SEEK_END);
    long all = ftell(file);
    fseek(file, all > (long)sizeof text ? all - (long)sizeof text : 0, SEEK_SET);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    const char *keep = last_entries(text, size, process->traces_kept - 1);
    if (keep == text && all <= (long)sizeof text) return;
    file = open_in_data_dir(process, "w", "error.log");
    if (file == NULL) return;
    fwrite(keep, 1, (size_t)(text + size - keep), file);
    fclose(file);
}

static void write_error_log(struct process *process, const struct node_failure *failure,
                            const char *trace)
{
    char when[32];
    shorten_error_log(process);
    FILE *file = open_in_data_dir(process, "a", "error.log");
    if (file == NULL) return;
    timestamp(when, sizeof when);
    fprintf(file,
            "Time: %s\nStatus: %s error\nMessage: %s\nError: %u\nError data: %s\nError object: %s "
            "(Line: %u)\n"
            "Program: ndbmtd\nPid: %d thr: %u\nVersion: %s\nTrace file name: %s\n",
            when, exit_code_class(failure->exit_code), exit_code_text(failure->exit_code),
            failure->exit_code, failure->text, base_name(failure->file), failure->line,
            (int)getpid(), failure->thread_no, NDB_VERSION_TEXT, trace);
    if (process->node == NULL)
        fprintf(file, "Trace file path: none");
    else
        fprintf(file, "Trace file path: %s/%s", process->data_dir, trace);
    if (process->node != NULL && process->config.thread_count > 1)
        fprintf(file, " [t1..t%u]", process->config.thread_count - 1);
    fprintf(file, "\n***EOM***\n\n");
    fclose(file);
}

/* The node's own last word was that it is started, or how far its start is. */
static void tell_service(bool again, uint32_t number, uint32_t exit_code)
{
    const char *then = again ? "started again" : "not started again";
    if (number != 0) {
        service_notify("STATUS=The data node was ended by signal %u (%s), and is %s", number,
                       strsignal((int)number), then);
    } else {
        service_notify("STATUS=The data node has ended with error %u, and is %s: %s", exit_code,
                       then, exit_code_text(exit_code));
    }
}

void process_report_failure(struct process *process, uint32_t restart_flags, uint32_t number,
                            uint32_t exit_code)
{
    char text[512];
    tell_service((restart_flags & STOP_RESTART) != 0, number, exit_code);
    ndb_mgm_handle_t *mgm = ndb_mgm_create_handle();
    if (mgm == NULL) return;
    snprintf(text, sizeof text, "'%s (%s)'", exit_code_text(exit_code), exit_code_class(exit_code));
    ndb_mgm_set_timeout(mgm, 2000);
    if (ndb_mgm_set_connectstring(mgm, process->connect_string) == 0 &&
        ndb_mgm_connect(mgm, 0, 0) == 0) {
        uint32_t action = (restart_flags & (STOP_RESTART | STOP_NO_START | STOP_INITIAL)) >> 1;
        ndb_mgm_report_stop(mgm, process->config.own_node, action, number, exit_code,
                            process->words.started != 0 ? 255u : 0u, text);
    }
    ndb_mgm_destroy_handle(mgm);
}

static _Thread_local bool failing; /* This thread is the one that tells. */

static void end_without_angel(struct process *process, uint32_t exit_code)
{
    uint32_t pause_s = 0;
    bool again = process->terminated_ns == 0 && angel_in_any_case(process, &pause_s);
    process_report_failure(process, again ? STOP_RESTART : 0, 0, exit_code);
    if (!again) return;
    process_log(process, LOG_LEVEL_INFO, "the data node begins again in %u s", pause_s);
    again_execute(process, pause_s);
}

_Noreturn void process_fail(struct process *process, const struct node_failure *failure)
{
    pthread_mutex_lock(
        &process->fail_lock); /* The first failure tells; others wait here for the end. */
    failing = true;
    signal(SIGALRM, SIG_DFL);
    alarm(FAIL_SECONDS);
    char trace[64] = "none"; /* No thread has run. */
    uint32_t trace_no = process->node != NULL ? next_trace_no(process) : 0;
    if (process->node != NULL)
        snprintf(trace, sizeof trace, "ndb_%u_trace.log.%u", process->config.own_node, trace_no);
    write_error_log(process, failure, trace);
    if (process->node != NULL) write_traces(process, trace_no);
    process_log(process, LOG_LEVEL_ALERT,
                "Forced node shutdown completed. Caused by error %u: '%s (%s)'. %s, line %u: %s. "
                "Trace: %s",
                failure->exit_code, exit_code_text(failure->exit_code),
                exit_code_class(failure->exit_code), base_name(failure->file), failure->line,
                failure->text, trace);
    angel_tell_end(process, failure->exit_code, 0);
    if (process->angel_pipe < 0) end_without_angel(process, failure->exit_code);
    _exit(EXIT_FAILURE);
}

/* --- Faults. --- */

static struct process *faulting; /* A signal handler has no other way to its process. */

/*
 * Much of what follows may not be called in a signal handler when the fault was inside malloc or
 * stdio. Then the alarm ends the process, and the angel tells of that; without the attempt there
 * would never be a trace.
 */
static void on_fault(int number)
{
    char text[64];
    if (failing) _exit(EXIT_FAILURE); /* A fault while telling of the first one. */
    snprintf(text, sizeof text, "signal %d (%s)", number, strsignal(number));
    struct node_failure failure = {
        .exit_code = EXIT_OS_SIGNAL, .file = __FILE__, .line = __LINE__, .text = text};
    process_fail(faulting, &failure);
}

void process_catch_faults(struct process *process)
{
#if !defined(__SANITIZE_ADDRESS__) &&                                                              \
    !defined(__SANITIZE_THREAD__) /* These have handlers that tell more. */
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    faulting = process;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
#else
    (void)process;
    (void)on_fault;
    (void)faulting;
#endif
}
