/* test_import_reject_file.c -- what an import does to the file of rejected rows: nothing of a stream
 * goes, and of a file only what is behind the mark. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/support/temp_directory.h"
#include "tools/import_reject_file.h"

/* ---- What import_reject_file.c calls. ---- */

static const char *replacement; /* Another import gives it the name "rows" before the next lock. */
static uint32_t directories;    /* So many syncs of one. */

int flock(int fd, int operation)
{
    const char *now = replacement;
    replacement = NULL;
    if (now != NULL) assert_int_equal(rename(now, "rows"), 0);
    return (int)syscall(SYS_flock, fd, operation);
}

int fsync(int fd)
{
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    directories += S_ISDIR(status.st_mode);
    return 0;
}

/* ---- */

static void make(const char *text)
{
    temp_file_make("rows", text);
}

static void has(const char *text)
{
    temp_file_has("rows", text);
}

/* What a load with this path does at its begin. */
static bool trim(const char *path, uint64_t mark)
{
    struct import_reject_file file = {.path = path};
    bool good = import_reject_file_begin(&file) && import_reject_file_trim(&file, mark);
    int error = errno;
    assert_true(import_reject_file_end(&file));
    errno = error;
    return good;
}

static void write_row(const char *path, const char *text)
{
    struct import_reject_file file = {.path = path};
    assert_true(import_reject_file_begin(&file));
    assert_true(import_reject_file_open(&file));
    assert_true(fputs(text, file.file) >= 0);
    assert_true(import_reject_file_end(&file));
}

static void make_link(const char *target, const char *name)
{
    (void)unlink(name);
    assert_int_equal(symlink(target, name), 0);
}

static void trimmed(void **state)
{
    struct stat status;
    (void)state;
    (void)unlink("rows");
    assert_true(trim("rows", 0)); /* There is none. */
    make("1\t7\ta\n9\t7\tb\n2\t7\tc\n3\t7\td");
    assert_int_equal(chmod("rows", 0640), 0);
    assert_true(trim("rows", 3)); /* A line that was cut is none. */
    has("1\t7\ta\n2\t7\tc\n");
    assert_int_equal(stat("rows", &status), 0);
    assert_int_equal(status.st_mode & 0777u, 0640);
    make_link("rows", "link");
    assert_true(trim("link", 1));
    has("1\t7\ta\n");
    write_row("link", "4\t7\te\n");
    has("1\t7\ta\n4\t7\te\n");
    assert_true(trim("link", 0));
    has("");
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

/* The file is what a descriptor of this process is open for, too. */
static void streams(void **state)
{
    char name[40];
    char of_process[60];
    (void)state;
    make("a line of somebody else\n");
    int fd = open("rows", O_WRONLY | O_APPEND);
    assert_true(fd >= 0);
    (void)snprintf(name, sizeof name, "/dev/fd/%d", fd);
    (void)snprintf(of_process, sizeof of_process, "/proc/%d/fd/%d", (int)getpid(), fd);
    make_link(of_process, "link");
    make_link("link", "second");
    const char *const paths[] = {name, of_process, "link", "second"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_true(trim(paths[i], 0));
        assert_true(trim(paths[i], 1));
        has("a line of somebody else\n");
    }
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* A stream is not taken from others. */
    write_row("second", "1\t7\ta\n");
    has("a line of somebody else\n1\t7\ta\n");
    (void)close(fd);
    assert_true(trim("/dev/null", 0));
    write_row("/dev/null", "1\t7\ta\n");
}

/* Whatever is written to the stream by others stands behind what was rejected. */
static void standard_error(void **state)
{
    bool cut, cut_by_name, second = false;
    (void)state;
    make("");
    int kept = dup(STDERR_FILENO);
    int fd = open("rows", O_WRONLY); /* As a shell's 2>rows, which does not append. */
    assert_true(kept >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
    (void)fprintf(stderr, "before\n");
    cut = !trim("/dev/stderr", 0);
    cut_by_name = !trim("rows", 0);
    struct import_reject_file file = {.path = "/dev/stderr"};
    if (import_reject_file_begin(&file) && import_reject_file_open(&file)) {
        second = fputs("1\t7\ta\n", file.file) >= 0 && import_reject_file_end(&file);
        (void)fprintf(stderr, "behind\n");
    }
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(fd);
    assert_false(cut);
    assert_false(cut_by_name);
    assert_true(second);
    has("before\n1\t7\ta\nbehind\n");
}

/* All that belongs to the file stays, when no row that stays is behind one that goes. */
static void in_place(void **state)
{
    struct stat before, now;
    (void)state;
    make("1\t7\ta\n3\t7\tc\n2\t7\tb\n9\t7\td\n");
    temp_file_make("rows.new", "a file of somebody else\n");
    assert_int_equal(link("rows", "second name"), 0);
    assert_int_equal(stat("rows", &before), 0);
    assert_true(trim("rows", 3));
    has("1\t7\ta\n3\t7\tc\n2\t7\tb\n");
    assert_true(trim("rows", 3));
    has("1\t7\ta\n3\t7\tc\n2\t7\tb\n");
    assert_int_equal(stat("rows", &now), 0);
    assert_int_equal(now.st_ino, before.st_ino);
    assert_true(trim("rows", 2)); /* Row 3 goes from between others, by a new file. */
    has("1\t7\ta\n2\t7\tb\n");
    assert_int_equal(unlink("second name"), 0);
    assert_int_equal(stat("rows.new", &now), 0);
    assert_int_equal(now.st_size, strlen("a file of somebody else\n"));
    assert_int_equal(unlink("rows.new"), 0);
}

/* A new file that has taken the place is locked like the one before. */
static void still_locked(void **state)
{
    struct import_reject_file file = {.path = "rows"};
    (void)state;
    make("1\t7\ta\n9\t7\td\n2\t7\tb\n");
    assert_true(import_reject_file_begin(&file));
    assert_true(import_reject_file_trim(&file, 3));
    assert_false(trim("rows", 0));
    assert_int_equal(errno, EWOULDBLOCK);
    assert_true(import_reject_file_open(&file));
    assert_true(fputs("3\t7\tc\n", file.file) >= 0);
    assert_true(import_reject_file_end(&file));
    has("1\t7\ta\n2\t7\tb\n3\t7\tc\n");
}

static void another_import(void **state)
{
    struct import_reject_file file = {.path = "rows"};
    (void)state;
    make("1\t7\ta\n2\t7\tb\n");
    assert_true(import_reject_file_begin(&file)); /* It has no row of its own yet. */
    for (uint64_t mark = 0; mark < 2; mark++) {
        errno = 0;
        assert_false(trim("rows", mark));
        assert_int_equal(errno, EWOULDBLOCK);
    }
    has("1\t7\ta\n2\t7\tb\n");
    assert_true(import_reject_file_end(&file));
    assert_true(trim("rows", 1));
    has("1\t7\ta\n");
}

/* Another import has made it, with rows, since this one began without it. */
static void made_meanwhile(void **state)
{
    struct import_reject_file file = {.path = "rows"};
    (void)state;
    (void)unlink("rows");
    assert_true(import_reject_file_begin(&file));
    write_row("rows", "1\t7\ta\n");
    assert_true(import_reject_file_trim(&file, 0));
    assert_false(import_reject_file_open(&file));
    assert_int_equal(errno, EEXIST);
    has("1\t7\ta\n");
    assert_int_equal(truncate("rows", 0), 0);
    assert_true(import_reject_file_open(&file));
    assert_false(trim("rows", 0));
    assert_true(import_reject_file_end(&file));
}

/* The file that was locked has lost its name, and another one has it. */
static void replaced(void **state)
{
    struct import_reject_file file = {.path = "rows"};
    (void)state;
    make("1\t7\ta\n9\t7\tb\n2\t7\tc\n");
    assert_true(import_reject_file_begin(&file));
    assert_int_equal(unlink("rows"), 0);
    make("5\t7\tof another import\n6\t7\tthe same\n4\t7\tthe same\n");
    assert_true(import_reject_file_trim(&file, 5));
    has("5\t7\tof another import\n6\t7\tthe same\n4\t7\tthe same\n");
    assert_false(import_reject_file_open(&file));
    assert_int_equal(errno, EEXIST);
    assert_true(import_reject_file_end(&file));
}

/* What is locked is the file that has the name then. */
static void replaced_before_lock(void **state)
{
    (void)state;
    make("1\t7\ta\n");
    temp_file_make("new", "2\t7\tb\n");
    replacement = "new";
    write_row("rows", "3\t7\tc\n");
    has("2\t7\tb\n3\t7\tc\n");
}

/* A name survives a loss of power. */
static void synced_names(void **state)
{
    (void)state;
    (void)unlink("rows");
    directories = 0;
    write_row("rows", "1\t7\ta\n");
    assert_int_equal(directories, 1);
    write_row("rows", "9\t7\tb\n");
    assert_true(trim("rows", 3));
    assert_int_equal(directories, 1); /* It has kept its name. */
    make("9\t7\tb\n2\t7\tc\n");
    assert_true(trim("rows", 3));
    assert_int_equal(directories, 2);
}

/* A link that leads to no file yet: it is made there. */
static void link_to_nothing(void **state)
{
    (void)state;
    (void)unlink("rows");
    make_link("rows", "link");
    write_row("link", "1\t7\ta\n");
    has("1\t7\ta\n");
}

/* What has no rows of an import would be lost, and stays. */
static void of_somebody_else(void **state)
{
    static const char *const texts[] = {"@@ -1,3 +1,3 @@\n",  "7 rows\n",    "\n",   "\t1\n",
                                        "1\tSmith\tLondon\n", "12\t3x\ty\n", "4711", "12\t3"};
    static const char *const own[] = {"", "1\t7\t", "12\t3\tx\ty\n",
                                      "18446744073709551615\t2147483647\tx\ty\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        make(texts[i]);
        assert_false(trim("rows", 0));
        assert_int_equal(errno, EBADMSG);
        has(texts[i]);
    }
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        make(own[i]);
        assert_true(trim("rows", 0));
        has("");
    }
}

/* It is only in the way of a row that is rejected. */
static void not_writable(void **state)
{
    struct import_reject_file file = {.path = "rows"};
    (void)state;
    make("1\t7\ta\n");
    assert_int_equal(chmod("rows", 0444), 0);
    if (getuid() == 0) assert_int_equal(seteuid(65534), 0); /* Root may write to it. */
    assert_true(import_reject_file_begin(&file));
    assert_true(import_reject_file_trim(&file, 0));
    assert_false(import_reject_file_open(&file));
    assert_int_equal(errno, EACCES);
    assert_true(import_reject_file_end(&file));
    assert_int_equal(seteuid(getuid()), 0);
    has("1\t7\ta\n");
    assert_int_equal(unlink("rows"), 0);
}

static void count(void *context)
{
    ++*(uint32_t *)context;
}

/* Behind each piece of a row that goes to a stream something else is done, however fast it is read. */
static void pieces(void **state)
{
    static char row[3 * 4096 + 1], got[sizeof row];
    uint32_t times = 0;
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < sizeof row; i++)
        row[i] = (char)('a' + i % 26);
    struct import_reject_file file = {
        .path = "a pipe", .file = fdopen(ends[1], "w"), .meanwhile = count, .context = &times};
    assert_true(import_reject_file_write(&file, row, sizeof row, false));
    assert_true(times >= 4);
    assert_int_equal(read(ends[0], got, sizeof got), sizeof row);
    assert_memory_equal(got, row, sizeof row);
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    assert_false(import_reject_file_write(&file, row, sizeof row, false));
    assert_int_equal(errno, EPIPE);
    assert_true(import_reject_file_end(&file));
}

static void failures(void **state)
{
    struct import_reject_file file = {.path = "nowhere/rows"};
    (void)state;
    assert_true(import_reject_file_begin(&file));
    assert_false(import_reject_file_open(&file));
    assert_int_equal(errno, ENOENT);
    file.path = "rows/rows";
    make("");
    assert_false(import_reject_file_begin(&file));
    assert_int_equal(errno, ENOTDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trimmed),
        cmocka_unit_test(streams),
        cmocka_unit_test(standard_error),
        cmocka_unit_test(in_place),
        cmocka_unit_test(still_locked),
        cmocka_unit_test(another_import),
        cmocka_unit_test(made_meanwhile),
        cmocka_unit_test(replaced),
        cmocka_unit_test(replaced_before_lock),
        cmocka_unit_test(synced_names),
        cmocka_unit_test(link_to_nothing),
        cmocka_unit_test(of_somebody_else),
        cmocka_unit_test(not_writable),
        cmocka_unit_test(pieces),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, temp_directory_enter, temp_directory_leave);
}
