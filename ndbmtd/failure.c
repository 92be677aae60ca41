/* failure.c -- the node's log, and what a failing node leaves behind: error log entry and a trace file per thread. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "ndbmtd/process.h"

#define TRACES_KEPT 25u /* MaxNoOfSavedMessages: trace numbers go round. */

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

static void timestamp(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(text, size, "%Y-%m-%d %H:%M:%S", &local);
}

void process_log(struct process *process, enum log_level level, const char *format, ...)
{
    static const char *const names[] = {"", "DEBUG", "INFO", "WARNING", "ERROR", "ALERT"};
    char when[32];
    va_list arguments;
    timestamp(when, sizeof when);
    pthread_mutex_lock(&process->log_lock);
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

/* Trace numbers count up over the lives of a node and start again after TRACES_KEPT. */
static uint32_t next_trace_no(struct process *process)
{
    uint32_t no = 0;
    FILE *file = open_in_data_dir(process, "r", "trace.log.next");
    if (file != NULL) {
        if (fscanf(file, "%u", &no) != 1) no = 0;
        fclose(file);
    }
    no = no % TRACES_KEPT + 1;
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

static void write_traces(struct process *process, uint32_t trace_no)
{
    for (uint32_t no = 0; process->node != NULL && no < process->config.thread_count; no++) {
        FILE *file = no == 0 ? open_in_data_dir(process, "w", "trace.log.%u", trace_no)
                             : open_in_data_dir(process, "w", "trace.log.%u_t%u", trace_no, no);
        if (file == NULL) continue;
        fprintf(file, "thread %u (%s): last signals, newest first\n", no,
                layout_role_name(layout_role(&process->config, no)));
        thread_trace(node_thread(process->node, no), put_to_file, file);
        fclose(file);
    }
}

static void write_error_log(struct process *process, const struct node_failure *failure, uint32_t trace_no)
{
    char when[32];
    FILE *file = open_in_data_dir(process, "a", "error.log");
    if (file == NULL) return;
    timestamp(when, sizeof when);
    fprintf(file,
            "Time: %s\nStatus: %s error\nMessage: %s\nError: %u\nError data: %s\nError object: %s (Line: %u)\n"
            "Program: ndbmtd\nPid: %d thr: %u\nTrace file name: ndb_%u_trace.log.%u\n***EOM***\n\n",
            when, exit_code_class(failure->exit_code), exit_code_text(failure->exit_code), failure->exit_code,
            failure->text, failure->file, failure->line, (int)getpid(), failure->thread_no, process->config.own_node,
            trace_no);
    fclose(file);
}

_Noreturn void process_fail(struct process *process, const struct node_failure *failure)
{
    pthread_mutex_lock(&process->fail_lock); /* The first failure tells; others wait here for the end. */
    uint32_t trace_no = next_trace_no(process);
    write_error_log(process, failure, trace_no);
    write_traces(process, trace_no);
    process_log(process, LOG_LEVEL_ALERT,
                "Forced node shutdown completed. Caused by error %u: '%s (%s)'. %s, line %u: %s. Trace: ndb_%u_trace.log.%u",
                failure->exit_code, exit_code_text(failure->exit_code), exit_code_class(failure->exit_code),
                failure->file, failure->line, failure->text, process->config.own_node, trace_no);
    angel_tell(process, failure->exit_code, 0);
    _exit(1);
}
