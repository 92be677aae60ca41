/* test_cluster_log.c -- files of the cluster log: what they have lost, how they are turned over. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "mgmd/cluster_log.h"

#define FILES_MAX 2

/* A log with one file, "log" in a directory of its own. */
struct place {
    char directory[40];
    char path[100];
    struct log_destination destination;
};

static const char *path_of(const struct place *place, const char *end)
{
    static char path[120];
    (void)snprintf(path, sizeof(path), "%s%s", place->path, end);
    return path;
}

static int setup(void **state)
{
    struct place *place = calloc(1, sizeof(*place));

    assert_non_null(place);
    (void)snprintf(place->directory, sizeof(place->directory), "/tmp/test_cluster_log.XXXXXX");
    assert_non_null(mkdtemp(place->directory));
    (void)snprintf(place->path, sizeof(place->path), "%s/log", place->directory);
    place->destination.count = 1;
    place->destination.targets[0] =
        (struct log_target){.kind = LOG_TARGET_FILE, .max_size = 1 << 20, .max_files = FILES_MAX};
    (void)snprintf(place->destination.targets[0].filename,
                   sizeof(place->destination.targets[0].filename), "%s", place->path);
    *state = place;
    return 0;
}

static int teardown(void **state)
{
    struct place *place = *state;

    (void)remove(place->path);
    (void)remove(path_of(place, ".1/full"));
    (void)remove(path_of(place, ".1"));
    (void)remove(path_of(place, ".2"));
    (void)remove(path_of(place, ".3"));
    assert_int_equal(rmdir(place->directory), 0);
    free(place);
    return 0;
}

static struct cluster_log *open_log(const struct place *place)
{
    char why[400];
    struct cluster_log *log = cluster_log_open(&place->destination, "", 49, why, sizeof(why));

    assert_non_null(log);
    return log;
}

/* Lines that differ. */
static void write_lines(struct cluster_log *log, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        cluster_log_printf(log, NDB_MGM_SEVERITY_INFO, "line %u", i);
}

static const char *text_of(const char *path)
{
    static char text[8000];
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

static uint32_t count_of(const char *text, const char *part)
{
    uint32_t count = 0;

    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
        count++;
    return count;
}

/* A disk that takes nothing more, here a limit: the lines are counted, and what was cut stays a
 * line of its own. A word about it that does not come through is no line of the log, and what
 * another file loses is not this one's. */
static void lost_lines_are_told(void **state)
{
    struct place *place = *state;
    struct rlimit before;
    struct stat status;

    place->destination.count = 2;
    place->destination.targets[1] =
        (struct log_target){.kind = LOG_TARGET_FILE, .max_size = 1 << 20, .filename = "/dev/full"};
    struct cluster_log *log = open_log(place);
    cluster_log_printf(log, NDB_MGM_SEVERITY_INFO, "a first line");
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit limit = {.rlim_cur = 80, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_lines(log, 7);
    assert_int_equal(stat(place->path, &status), 0);
    limit.rlim_cur = (rlim_t)status.st_size + 60;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cluster_log_printf(log, NDB_MGM_SEVERITY_INFO, "it fits");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    cluster_log_printf(log, NDB_MGM_SEVERITY_INFO, "again");
    cluster_log_close(log);
    const char *text = text_of(place->path);
    assert_non_null(strstr(text, " -- it fits\n"));
    assert_non_null(strstr(text, " -- 7 lines of this log were lost\n"));
    const char *line = strstr(text, " -- again\n");
    assert_non_null(line);
    while (line > text && line[-1] != '\n')
        line--;
    assert_int_equal(strncmp(line, "20", 2), 0); /* With its own date in front. */
}

static void full_files_are_turned_over(void **state)
{
    struct place *place = *state;
    struct stat status;

    place->destination.targets[0].max_size = 200;
    struct cluster_log *log = open_log(place);
    write_lines(log, 30);
    cluster_log_close(log);
    assert_non_null(strstr(text_of(place->path), " -- line 29\n"));
    for (uint32_t i = 1; i <= FILES_MAX; i++) {
        char end[4];
        (void)snprintf(end, sizeof(end), ".%u", i);
        assert_int_equal(stat(path_of(place, end), &status), 0);
        assert_in_range(status.st_size, 1, 200);
    }
    assert_int_not_equal(stat(path_of(place, ".3"), &status), 0);
}

/* Somebody has moved the file away: the log begins a new one. */
static void moved_files_are_made_anew(void **state)
{
    struct place *place = *state;

    place->destination.targets[0].max_size = 200;
    struct cluster_log *log = open_log(place);
    write_lines(log, 3);
    assert_int_equal(unlink(place->path), 0);
    write_lines(log, 3);
    cluster_log_close(log);
    assert_non_null(strstr(text_of(place->path), " -- line 2\n"));
}

/* Long before it is full, too: as by logrotate. */
static void a_moved_file_has_no_later_line(void **state)
{
    struct place *place = *state;
    struct cluster_log *log = open_log(place);

    write_lines(log, 3);
    assert_int_equal(rename(place->path, path_of(place, ".away")), 0);
    write_lines(log, 2);
    cluster_log_close(log);
    assert_int_equal(count_of(text_of(path_of(place, ".away")), " -- line "), 3);
    assert_int_equal(count_of(text_of(place->path), " -- line "), 2);
    assert_int_equal(unlink(path_of(place, ".away")), 0);
}

/* The name of the former file is taken by what cannot be replaced. */
static void a_file_that_cannot_be_renamed_grows_and_says_so(void **state)
{
    struct place *place = *state;

    place->destination.targets[0].max_size = 400;
    place->destination.targets[0].max_files = 1;
    assert_int_equal(mkdir(path_of(place, ".1"), 0700), 0);
    FILE *file = fopen(path_of(place, ".1/full"), "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    struct cluster_log *log = open_log(place);
    write_lines(log, 30); /* 1,350 bytes and more: three limits. */
    cluster_log_close(log);
    const char *text = text_of(place->path);
    assert_int_equal(count_of(text, " -- line "), 30);
    assert_in_range(count_of(text, " -- this log grows beyond its limit: it cannot be renamed: "),
                    2, 5);
}

/* No file can be opened for a while: the files of before are not pushed out meanwhile. */
static void files_that_cannot_be_opened_push_none_out(void **state)
{
    struct place *place = *state;
    struct rlimit before;

    place->destination.targets[0].max_size = 200;
    struct cluster_log *log = open_log(place);
    write_lines(log, 30);
    char kept[8000];
    (void)snprintf(kept, sizeof(kept), "%s", text_of(path_of(place, ".1")));
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    write_lines(log, 30);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_string_equal(text_of(path_of(place, ".2")), kept); /* One rename, at most. */
    cluster_log_printf(log, NDB_MGM_SEVERITY_INFO, "it goes on");
    cluster_log_close(log);
    assert_non_null(strstr(text_of(place->path), " lines of this log were lost\n"));
}

static void keep(const struct place *place, const char *suffix)
{
    FILE *file = fopen(path_of(place, suffix), "w");
    assert_non_null(file);
    assert_true(fputs(suffix, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Kept files go when a newer one takes their place, and for nothing else. */
static void kept_files_are_not_pushed_out_by_none(void **state)
{
    struct place *place = *state;

    place->destination.targets[0].max_size = 200;
    place->destination.targets[0].max_files = 3;
    keep(place, ".1");
    keep(place, ".2");
    keep(place, ".3");
    struct cluster_log *log = open_log(place);
    write_lines(log, 3);
    assert_int_equal(unlink(path_of(place, "")), 0); /* Somebody has moved it away. */
    write_lines(log, 3);
    assert_string_equal(text_of(path_of(place, ".1")), ".1");
    assert_string_equal(text_of(path_of(place, ".3")), ".3");
    assert_int_equal(unlink(path_of(place, ".1")), 0); /* As behind a rename that has failed. */
    write_lines(log, 4);
    cluster_log_close(log);
    assert_non_null(strstr(text_of(path_of(place, ".1")), " -- line "));
    assert_string_equal(text_of(path_of(place, ".2")), ".2");
    assert_string_equal(text_of(path_of(place, ".3")), ".3");
}

/* As logrotate does with "create": the log goes on in the file that has the name now. An empty one
 * is not kept, one that is full by itself is. */
static void a_file_in_place_of_a_moved_one_is_not_pushed_out(void **state)
{
    struct place *place = *state;
    struct stat status;

    place->destination.targets[0].max_size = 200;
    keep(place, ".1");
    keep(place, ".2");
    struct cluster_log *log = open_log(place);
    write_lines(log, 4); /* 180 bytes and more. */
    assert_int_equal(rename(place->path, path_of(place, ".3")), 0);
    FILE *file = fopen(place->path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    write_lines(log, 2);
    assert_string_equal(text_of(path_of(place, ".1")), ".1");
    assert_string_equal(text_of(path_of(place, ".2")), ".2");
    assert_int_equal(count_of(text_of(path_of(place, ".3")), " -- line "), 4);
    assert_int_equal(count_of(text_of(place->path), " -- line "), 2);
    write_lines(log, 2);
    assert_int_equal(unlink(place->path), 0);
    file = fopen(place->path, "w");
    assert_non_null(file);
    assert_int_equal(fprintf(file, "%0200d\n", 1), 201);
    assert_int_equal(fclose(file), 0);
    write_lines(log, 1);
    cluster_log_close(log);
    assert_int_equal(stat(path_of(place, ".1"), &status), 0);
    assert_int_equal(status.st_size, 201);
    assert_string_equal(text_of(path_of(place, ".2")), ".1");
    assert_int_equal(count_of(text_of(place->path), " -- line "), 1);
}

static void refused(const struct place *place, const char *wanted)
{
    char why[400];

    assert_null(cluster_log_open(&place->destination, "", 49, why, sizeof(why)));
    if (strstr(why, wanted) == NULL) fail_msg("no '%s' in: %s", wanted, why);
}

/* Nobody waits for a reader. */
static void a_fifo_without_a_reader_is_refused(void **state)
{
    struct place *place = *state;

    assert_int_equal(mkfifo(place->path, 0600), 0);
    refused(place, "cannot be opened: nobody reads this FIFO; start its reader first, or change ");
}

/* A directory is to be made where there is none, and nowhere else. */
static void why_a_file_cannot_be_opened_is_told(void **state)
{
    struct place *place = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *name = place->destination.targets[0].filename;
    size_t size = sizeof(place->destination.targets[0].filename);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", place->path);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    refused(place, "cannot be opened: it is a socket; change DataDir or LogDestination");
    assert_int_equal(close(listener), 0);
    (void)snprintf(name, size, "%s", place->directory);
    refused(place, "cannot be opened: Is a directory; change DataDir or LogDestination");
    (void)snprintf(name, size, "%s/none/log", place->directory);
    refused(place, "cannot be opened: No such file or directory; make its directory, or change ");
    if (geteuid() == 0) return; /* May write everywhere. */
    (void)snprintf(name, size, "/proc/version");
    refused(place, "cannot be opened: Permission denied; let this user write there, or change ");
}

/* A device stays what it is, whatever has gone into it. */
static void a_device_is_not_renamed(void **state)
{
    struct place *place = *state;
    char target[40];

    place->destination.targets[0].max_size = 200;
    assert_int_equal(symlink("/dev/null", place->path), 0);
    struct cluster_log *log = open_log(place);
    write_lines(log, 30);
    cluster_log_close(log);
    assert_int_equal(readlink(place->path, target, sizeof(target)), strlen("/dev/null"));
}

/* The file is kept where it lies, and the link goes on to lead there, also when somebody has moved
 * the file away. */
static void a_link_stays_and_its_file_is_kept(void **state)
{
    struct place *place = *state;
    char directory[60];
    char path[100];
    char kept[120];
    char target[100] = "";
    struct stat status;

    place->destination.targets[0].max_size = 200;
    (void)snprintf(directory, sizeof(directory), "%s/disk", place->directory);
    (void)snprintf(path, sizeof(path), "%s/cluster.log", directory);
    assert_int_equal(mkdir(directory, 0700), 0);
    assert_int_equal(symlink("disk/cluster.log", place->path), 0);
    struct cluster_log *log = open_log(place);
    write_lines(log, 30);
    assert_non_null(strstr(text_of(path), " -- line 29\n"));
    assert_int_equal(unlink(path), 0);
    write_lines(log, 5);
    cluster_log_close(log);
    assert_int_equal(readlink(place->path, target, sizeof(target) - 1), strlen("disk/cluster.log"));
    assert_string_equal(target, "disk/cluster.log");
    assert_int_not_equal(lstat(path_of(place, ".1"), &status), 0);
    assert_non_null(strstr(text_of(path), " -- line 4\n"));
    assert_int_equal(unlink(path), 0);
    for (uint32_t i = 1; i <= FILES_MAX; i++) {
        (void)snprintf(kept, sizeof(kept), "%s.%u", path, i);
        assert_int_equal(unlink(kept), 0);
    }
    assert_int_equal(rmdir(directory), 0); /* There is nothing else in it. */
}

/* Whoever has opened a file for the server goes on to find it by its name: the log leads to the
 * descriptor over so many links. */
static void check_descriptor(struct place *place, uint32_t links)
{
    char path[100];
    char name[120];

    place->destination.targets[0].max_size = 200;
    (void)snprintf(path, sizeof(path), "%s/output", place->directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    for (uint32_t i = links; i > 0; i--) {
        char end[16] = "";
        if (i > 1) (void)snprintf(end, sizeof(end), "-%u", i);
        assert_int_equal(symlink(name, path_of(place, end)), 0);
        (void)snprintf(name, sizeof(name), "%s", path_of(place, end));
    }
    struct cluster_log *log = open_log(place);
    write_lines(log, 30);
    cluster_log_close(log);
    assert_int_equal(count_of(text_of(path), " -- line "), 30);
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(path), 0);
    for (uint32_t i = 2; i <= links; i++) {
        char end[16];
        (void)snprintf(end, sizeof(end), "-%u", i);
        assert_int_equal(unlink(path_of(place, end)), 0);
    }
}

static void a_descriptor_is_not_renamed(void **state)
{
    check_descriptor(*state, 1);
}

static void a_descriptor_behind_links_is_not_renamed(void **state)
{
    check_descriptor(*state, 4);
}

#define LONG_LINES 300u

/* Lines of 900 bytes and more: together more than anything holds that nobody reads. */
static void write_long_lines(struct cluster_log *log, uint32_t count)
{
    char filling[900];

    memset(filling, '-', sizeof(filling));
    for (uint32_t i = 0; i < count; i++)
        cluster_log_printf(log, NDB_MGM_SEVERITY_INFO, "line %u %.*s end", i, (int)sizeof(filling),
                           filling);
}

/* Takes what has come: without waiting, once there is anything. */
static void read_out(int fd, char *text, size_t size)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    size_t used = strlen(text);
    ssize_t got;

    (void)poll(&readable, 1, 100);
    while (used < size - 1 && (got = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
}

/* The sum of what the log says that it has lost. */
static uint32_t lost_in(const char *text)
{
    uint32_t sum = 0;

    for (const char *at = text; (at = strstr(at, " lines of this log were lost")) != NULL; at++) {
        const char *number = at;
        while (number > text && number[-1] >= '0' && number[-1] <= '9')
            number--;
        sum += (uint32_t)strtoul(number, NULL, 10);
    }
    return sum;
}

/* Nobody reads: the lines that find room are there, the others are counted, and told of when the
 * reader goes on. A server that waited would be ended by the alarm. */
static void lines_wait_for_nobody(struct cluster_log *log, int reader)
{
    static char text[LONG_LINES * 1100];
    uint32_t again = 0;

    text[0] = '\0';
    assert_int_equal(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
    (void)alarm(60);
    write_long_lines(log, LONG_LINES);
    do {
        read_out(reader, text, sizeof(text));
        cluster_log_printf(log, NDB_MGM_SEVERITY_INFO, "again %u.", again++);
        read_out(reader, text, sizeof(text));
    } while (lost_in(text) == 0);
    (void)alarm(0);
    uint32_t there = count_of(text, "- end") + count_of(text, " -- again ");
    assert_in_range(there, 2, LONG_LINES);
    /* A terminal makes room bit by bit. Lines that it has cut may lack their ends alone: they are
     * there, and lost. */
    assert_in_range(there + lost_in(text), LONG_LINES + again, LONG_LINES + again + 8);
    assert_in_range(count_of(text, " lines of this log were lost"), 1, 8);
}

/* The standard output is this one while the log is written. */
static void check_console(struct place *place, int reader, int writer)
{
    place->destination.targets[0].kind = LOG_TARGET_CONSOLE;
    int before = dup(STDOUT_FILENO);
    assert_true(before >= 0);
    assert_int_equal(fflush(stdout), 0);
    assert_int_equal(dup2(writer, STDOUT_FILENO), STDOUT_FILENO);
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    struct cluster_log *log = open_log(place);
    lines_wait_for_nobody(log, reader);
    cluster_log_close(log);
    assert_int_equal(fcntl(STDOUT_FILENO, F_GETFL), flags); /* Others write there, too. */
    assert_int_equal(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(close(before), 0);
    assert_int_equal(close(writer), 0);
    assert_int_equal(close(reader), 0);
}

static void a_pipe_as_console_stops_nobody(void **state)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    check_console(*state, ends[0], ends[1]);
}

static void a_socket_as_console_stops_nobody(void **state)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    check_console(*state, ends[0], ends[1]);
}

static void a_terminal_as_console_stops_nobody(void **state)
{
    int reader = posix_openpt(O_RDWR | O_NOCTTY);

    if (reader < 0 || grantpt(reader) != 0 || unlockpt(reader) != 0) skip();
    int writer = open(ptsname(reader), O_RDWR | O_NOCTTY);
    assert_true(writer >= 0);
    check_console(*state, reader, writer);
}

static void a_fifo_that_is_full_stops_nobody(void **state)
{
    struct place *place = *state;

    assert_int_equal(mkfifo(place->path, 0600), 0);
    int reader = open(place->path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    struct cluster_log *log = open_log(place);
    lines_wait_for_nobody(log, reader);
    cluster_log_close(log);
    assert_int_equal(close(reader), 0);
}

/* Whoever has read the console has gone: the lines are lost, and nothing else happens. */
static void a_console_that_has_gone_ends_nobody(void **state)
{
    struct place *place = *state;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    (void)signal(SIGPIPE, SIG_IGN); /* As the server does. */
    place->destination.targets[0].kind = LOG_TARGET_CONSOLE;
    int before = dup(STDOUT_FILENO);
    assert_int_equal(fflush(stdout), 0);
    assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(close(ends[0]), 0);
    struct cluster_log *log = open_log(place);
    write_lines(log, 3);
    cluster_log_close(log);
    assert_int_equal(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
    assert_int_equal(close(before), 0);
    assert_int_equal(close(ends[1]), 0);
}

/* The few lines for the standard error are lost when it has no room, and whole when it has. */
static void a_full_standard_error_stops_nobody(void **state)
{
    static char text[300 * 1100];
    int ends[2];

    (void)state;
    text[0] = '\0';
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    int before = dup(STDERR_FILENO);
    assert_true(before >= 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    int flags = fcntl(STDERR_FILENO, F_GETFL);
    (void)alarm(60);
    for (uint32_t i = 0; i < 300; i++)
        cluster_log_stderr("%u %900d end", i, 1);
    (void)alarm(0);
    assert_int_equal(fcntl(STDERR_FILENO, F_GETFL), flags);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    assert_int_equal(close(before), 0);
    assert_int_equal(close(ends[1]), 0);
    read_out(ends[0], text, sizeof(text));
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(strncmp(text, "ndb_mgmd: 0 ", strlen("ndb_mgmd: 0 ")), 0);
    uint32_t there = count_of(text, " 1 end\n");
    assert_in_range(there, 10, 299);
    assert_int_equal(count_of(text, "ndb_mgmd: "), there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lost_lines_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(full_files_are_turned_over, setup, teardown),
        cmocka_unit_test_setup_teardown(moved_files_are_made_anew, setup, teardown),
        cmocka_unit_test_setup_teardown(a_moved_file_has_no_later_line, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_renamed_grows_and_says_so, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(files_that_cannot_be_opened_push_none_out, setup, teardown),
        cmocka_unit_test_setup_teardown(kept_files_are_not_pushed_out_by_none, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_in_place_of_a_moved_one_is_not_pushed_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_fifo_without_a_reader_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(why_a_file_cannot_be_opened_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_device_is_not_renamed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_stays_and_its_file_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_descriptor_is_not_renamed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_descriptor_behind_links_is_not_renamed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pipe_as_console_stops_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_socket_as_console_stops_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_terminal_as_console_stops_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fifo_that_is_full_stops_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_console_that_has_gone_ends_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_standard_error_stops_nobody, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
