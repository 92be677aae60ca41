/* cluster_log.c -- writes the cluster log in the field's line format. */
/* SPDX-License-Identifier: GPL-2.0-only
 *
 *   2026-01-31 12:00:00 [MgmtSrvr] INFO     -- Node 1: Start phase 1 completed (initial start)
 *
 * A file that would grow beyond its limit is renamed to .1, .1 to .2 and so on; what is no regular
 * file, or has the name of a descriptor (/dev/stderr), is left where it is: a descriptor leads to
 * the same file when another one has the file's name. The name may be a symbolic link, or lead to
 * further ones: the file at the end is renamed, where it lies, and the links stay. A line equal to
 * the one before it within three seconds is counted, not written. A write that fails, or would have
 * to wait for a reader, is dropped: the log must never stop the server; the loss is told when
 * writing works again.
 */
#include "mgmd/cluster_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "service/path_in_proc.h"

#define LOG_TEXT_MAX 1000u
#define FOLD_SECONDS 3

struct log_file {
    int fd; /* -1: it is not open. */
    char path[2300];
    uint64_t size;
    uint64_t max_size;
    uint32_t max_files;
    bool console;  /* It is the standard output, and has no path. */
    bool regular;  /* It is a regular file with a name of its own, so it is rotated. */
    bool cut;      /* The last line of the file is not whole. */
    uint64_t lost; /* Lines that were lost since the file has told of some. */
};

struct cluster_log {
    uint32_t file_count;
    struct log_file files[LOG_TARGETS_MAX];
    struct log_file console;
    bool echo; /* The console gets the lines, too. */
    bool syslog;
    bool enabled[NDB_MGM_SEVERITIES];
    char last_text[LOG_TEXT_MAX + 1];
    enum ndb_mgm_severity last_severity;
    uint32_t last_node;
    time_t last_time;
    uint32_t repeats;
};

static int facility_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } facilities[] = {{"auth", LOG_AUTH},     {"authpriv", LOG_AUTHPRIV}, {"cron", LOG_CRON},
                      {"daemon", LOG_DAEMON}, {"ftp", LOG_FTP},           {"kern", LOG_KERN},
                      {"lpr", LOG_LPR},       {"mail", LOG_MAIL},         {"news", LOG_NEWS},
                      {"syslog", LOG_SYSLOG}, {"uucp", LOG_UUCP},         {"local0", LOG_LOCAL0},
                      {"local1", LOG_LOCAL1}, {"local2", LOG_LOCAL2},     {"local3", LOG_LOCAL3},
                      {"local4", LOG_LOCAL4}, {"local5", LOG_LOCAL5},     {"local6", LOG_LOCAL6},
                      {"local7", LOG_LOCAL7}};

    for (uint32_t i = 0; i < sizeof(facilities) / sizeof(facilities[0]); i++) {
        if (strcmp(facilities[i].name, name) == 0) return facilities[i].number;
    }
    return LOG_USER;
}

static int open_file(struct log_file *file)
{
    struct stat status;

    /* A FIFO that nobody reads is an error, and a full one loses lines: nobody waits for it. */
    file->fd = open(file->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file->fd < 0) return -1;
    file->regular =
        fstat(file->fd, &status) == 0 && S_ISREG(status.st_mode) && !path_in_proc(file->path);
    file->size = file->regular ? (uint64_t)status.st_size : 0;
    return 0;
}

/* What is there, and what can be done, as far as an error tells it. */
static void why_not_open(const struct log_file *file, int error, char *why, size_t size)
{
    const char *cause = strerror(error);
    const char *cure = "";
    struct stat status;

    if (error == ENXIO && stat(file->path, &status) == 0 && S_ISFIFO(status.st_mode)) {
        cause = "nobody reads this FIFO";
        cure = "start its reader first, or ";
    } else if (error == ENXIO && stat(file->path, &status) == 0 && S_ISSOCK(status.st_mode)) {
        cause = "it is a socket";
    } else if (error == ENOENT) {
        cure = "make its directory, or ";
    } else if (error == EACCES || error == EPERM) {
        cure = "let this user write there, or ";
    } else if (error == ENOSPC || error == EDQUOT) {
        cure = "make room, or ";
    }
    (void)snprintf(why, size,
                   "the cluster log %.200s cannot be opened: %s; %schange DataDir or "
                   "LogDestination",
                   file->path, cause, cure);
}

void cluster_log_path(const struct log_target *target, const char *directory, uint32_t node,
                      char *path, size_t size)
{
    if (target->filename[0] == '\0')
        (void)snprintf(path, size, "%sndb_%u_cluster.log", directory, node);
    else
        (void)snprintf(path, size, "%s%s", target->filename[0] == '/' ? "" : directory,
                       target->filename);
}

struct cluster_log *cluster_log_open(const struct log_destination *destination,
                                     const char *directory, uint32_t node, char *why,
                                     size_t why_size)
{
    struct cluster_log *log = calloc(1, sizeof(*log));

    if (log == NULL) {
        (void)snprintf(why, why_size, "out of memory");
        return NULL;
    }
    for (uint32_t i = 0; i < NDB_MGM_SEVERITIES; i++)
        log->enabled[i] = i != NDB_MGM_SEVERITY_DEBUG;
    log->console = (struct log_file){.fd = -1, .console = true};
    for (uint32_t i = 0; i < destination->count; i++) {
        const struct log_target *target = &destination->targets[i];
        if (target->kind == LOG_TARGET_CONSOLE) log->echo = true;
        if (target->kind == LOG_TARGET_SYSLOG) {
            log->syslog = true;
            openlog("MgmtSrvr", LOG_NDELAY, facility_number(target->facility));
        }
        if (target->kind != LOG_TARGET_FILE) continue;
        struct log_file *file = &log->files[log->file_count];
        cluster_log_path(target, directory, node, file->path, sizeof(file->path));
        file->max_size = target->max_size;
        file->max_files = target->max_files;
        if (open_file(file) != 0) {
            why_not_open(file, errno, why, why_size);
            cluster_log_close(log);
            return NULL;
        }
        log->file_count++;
    }
    return log;
}

static void close_file(struct log_file *file)
{
    if (file->fd >= 0) (void)close(file->fd);
    file->fd = -1;
}

/* All of a line, or it is lost, and the next one begins on its own. */
static bool put_line(struct log_file *file, int fd, const char *line, size_t length)
{
    if (file->cut && write(fd, "\n", 1) != 1) return false;
    file->cut = false;
    ssize_t put = write(fd, line, length);
    if (put == (ssize_t)length) return true;
    file->cut = put > 0;
    return false;
}

/* ---- the console ---- */

/* Nobody may read what a terminal, a pipe or a socket gets: a line that would have to wait is lost.
 * The standard output itself may be shared with others, who expect it to wait: it is opened once
 * more. That is done for each line, because a server in the background gets another one, and must
 * not hold the former. What cannot be opened, as a socket, is asked whether there is room. A
 * regular file never waits, and others write it by the same descriptor, which knows where it ends.
 * The standard error is the same. */
static bool write_stream(struct log_file *stream, int descriptor, const char *line, size_t length)
{
    struct pollfd room = {.fd = descriptor, .events = POLLOUT};
    struct stat status;
    char path[40];

    if (fstat(descriptor, &status) != 0) return false;
    if (S_ISREG(status.st_mode)) return put_line(stream, descriptor, line, length);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
    int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0 &&
               put_line(stream, descriptor, line, length);
    bool whole = put_line(stream, fd, line, length);
    (void)close(fd);
    return whole;
}

void cluster_log_stderr(const char *format, ...)
{
    static struct log_file stream;
    char line[4096] = "ndb_mgmd: ";
    size_t used = strlen(line);
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line + used, sizeof(line) - used - 1, format, args);
    va_end(args);
    used = strlen(line);
    line[used++] = '\n';
    (void)write_stream(&stream, STDERR_FILENO, line, used);
}

/* ---- files ---- */

static size_t make_line(char *line, size_t size, enum ndb_mgm_severity severity, uint32_t node,
                        const char *text)
{
    char stamp[32];
    char source[24] = "";
    time_t now = time(NULL);
    struct tm tm;

    (void)localtime_r(&now, &tm);
    (void)strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &tm);
    if (node != 0) (void)snprintf(source, sizeof(source), "Node %u: ", node);
    return (size_t)snprintf(line, size, "%s [MgmtSrvr] %-8s -- %s%s\n", stamp,
                            ndb_mgm_severity_name(severity), source, text);
}

/* Frees the name with .1. What is behind a gap stays: a log that cannot be renamed leaves one, and
 * would push all kept files out by and by. */
static void shift_kept(const char *path, uint32_t max_files)
{
    char from[PATH_MAX + 16];
    char to[PATH_MAX + 16];
    uint32_t gap = 0;

    do {
        (void)snprintf(to, sizeof(to), "%s.%u", path, ++gap);
    } while (gap < max_files && access(to, F_OK) == 0);
    for (uint32_t i = gap; i > 1; i--) {
        (void)snprintf(from, sizeof(from), "%s.%u", path, i - 1);
        (void)snprintf(to, sizeof(to), "%s.%u", path, i);
        (void)rename(from, to);
    }
}

/* Renames the file that the name leads to now. A link is followed: it stays what it is, and the
 * kept files are beside the file, on its disk. 0, or an errno; a file that somebody has moved away
 * needs nothing. */
static int keep_file(const struct log_file *file)
{
    char path[PATH_MAX];
    char to[PATH_MAX + 16];

    if (realpath(file->path, path) == NULL) return errno == ENOENT ? 0 : errno;
    shift_kept(path, file->max_files);
    (void)snprintf(to, sizeof(to), "%s.1", path);
    return rename(path, to) == 0 || errno == ENOENT ? 0 : errno;
}

/* Does a new line go beyond the limit? */
static bool is_full(const struct log_file *file, size_t length)
{
    return file->fd >= 0 && file->regular && file->size > 0 && file->size + length > file->max_size;
}

/* Has somebody moved the file away? Another one may have its name. */
static bool is_moved(const struct log_file *file)
{
    struct stat ours;
    struct stat named;

    if (fstat(file->fd, &ours) != 0) return false;
    if (stat(file->path, &named) != 0) return errno == ENOENT;
    return ours.st_dev != named.st_dev || ours.st_ino != named.st_ino;
}

/* The log goes on in the file that has the name now, and makes it where there is none; in the old
 * one where that cannot be. */
static void reopen(struct log_file *file)
{
    struct log_file old = *file;

    if (open_file(file) != 0) {
        *file = old;
        return;
    }
    close_file(&old);
    file->cut = false;
}

/* Makes room for new lines under the file's name. */
static void rotate(struct log_file *file)
{
    char text[200];
    char line[300];

    close_file(file);
    int error = keep_file(file);
    if (error == 0) file->cut = false;
    if (open_file(file) != 0 || error == 0) return;
    (void)snprintf(text, sizeof(text), "this log grows beyond its limit: it cannot be renamed: %s",
                   strerror(error));
    file->size = 0; /* The next try comes after as much again. */
    (void)put_line(file, file->fd, line,
                   make_line(line, sizeof(line), NDB_MGM_SEVERITY_WARNING, 0, text));
}

static bool write_file(struct log_file *file, const char *line, size_t length)
{
    if (file->console) return write_stream(file, STDOUT_FILENO, line, length);
    if (file->fd < 0 && open_file(file) != 0) return false;
    if (file->regular && is_moved(file)) reopen(file);
    if (is_full(file, length)) rotate(file);
    if (file->fd < 0) return false; /* The next line tries again. */
    if (!put_line(file, file->fd, line, length)) return false;
    file->size += length;
    return true;
}

/* A line has come through. That the others are missing is told until it has come through, too. */
static void tell_lost(struct log_file *file)
{
    char text[60];
    char line[200];

    if (file->lost == 0) return;
    (void)snprintf(text, sizeof(text), "%llu lines of this log were lost",
                   (unsigned long long)file->lost);
    if (write_file(file, line, make_line(line, sizeof(line), NDB_MGM_SEVERITY_WARNING, 0, text)))
        file->lost = 0;
}

static void write_and_tell(struct log_file *file, const char *line, size_t length)
{
    if (write_file(file, line, length))
        tell_lost(file);
    else
        file->lost++;
}

static void write_line(struct cluster_log *log, enum ndb_mgm_severity severity, uint32_t node,
                       const char *text)
{
    static const int syslog_levels[] = {LOG_INFO, LOG_DEBUG, LOG_INFO, LOG_WARNING,
                                        LOG_ERR,  LOG_CRIT,  LOG_ALERT};
    char line[LOG_TEXT_MAX + 100];
    size_t length = make_line(line, sizeof(line), severity, node, text);

    for (uint32_t i = 0; i < log->file_count; i++)
        write_and_tell(&log->files[i], line, length);
    if (log->echo) write_and_tell(&log->console, line, length);
    if (log->syslog) {
        if (node != 0)
            syslog(syslog_levels[severity], "Node %u: %s", node, text);
        else
            syslog(syslog_levels[severity], "%s", text);
    }
}

static void write_repeats(struct cluster_log *log)
{
    char text[LOG_TEXT_MAX + 1];

    if (log->repeats == 0) return;
    (void)snprintf(text, sizeof(text), "%.*s - Repeated %u times", (int)(LOG_TEXT_MAX - 40),
                   log->last_text, log->repeats);
    log->repeats = 0;
    write_line(log, log->last_severity, log->last_node, text);
}

void cluster_log_write(struct cluster_log *log, enum ndb_mgm_severity severity, uint32_t node,
                       const char *text)
{
    char clean[LOG_TEXT_MAX + 1];
    time_t now = time(NULL);

    if (log == NULL || (uint32_t)severity >= NDB_MGM_SEVERITIES) return;
    if (!log->enabled[NDB_MGM_SEVERITY_ON] || !log->enabled[severity]) return;
    (void)snprintf(clean, sizeof(clean), "%s", text);
    for (char *c = clean; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') *c = '?';
    }
    if (now - log->last_time < FOLD_SECONDS && now >= log->last_time &&
        log->last_severity == severity && log->last_node == node &&
        strcmp(log->last_text, clean) == 0) {
        log->repeats++;
        return;
    }
    write_repeats(log);
    memcpy(log->last_text, clean, sizeof(clean));
    log->last_severity = severity;
    log->last_node = node;
    log->last_time = now;
    write_line(log, severity, node, clean);
}

void cluster_log_printf(struct cluster_log *log, enum ndb_mgm_severity severity, const char *format,
                        ...)
{
    char text[LOG_TEXT_MAX + 1];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    cluster_log_write(log, severity, 0, text);
}

void cluster_log_tick(struct cluster_log *log)
{
    if (log->repeats > 0 && time(NULL) - log->last_time >= FOLD_SECONDS) write_repeats(log);
}

void cluster_log_enable(struct cluster_log *log, enum ndb_mgm_severity severity, bool enable)
{
    if (severity == NDB_MGM_SEVERITY_ALL) {
        for (uint32_t i = 1; i < NDB_MGM_SEVERITIES; i++)
            log->enabled[i] = enable;
    } else if ((uint32_t)severity < NDB_MGM_SEVERITIES) {
        log->enabled[severity] = enable;
    }
}

bool cluster_log_enabled(const struct cluster_log *log, enum ndb_mgm_severity severity)
{
    if (severity == NDB_MGM_SEVERITY_ALL) {
        for (uint32_t i = 1; i < NDB_MGM_SEVERITIES; i++) {
            if (!log->enabled[i]) return false;
        }
        return true;
    }
    return (uint32_t)severity < NDB_MGM_SEVERITIES && log->enabled[severity];
}

void cluster_log_echo(struct cluster_log *log, bool echo)
{
    log->echo = echo;
}

void cluster_log_close(struct cluster_log *log)
{
    if (log == NULL) return;
    write_repeats(log);
    for (uint32_t i = 0; i < log->file_count; i++)
        close_file(&log->files[i]);
    if (log->syslog) closelog();
    free(log);
}
