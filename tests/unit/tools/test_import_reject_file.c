/* test_import_reject_file.c -- what an import does to the file of rejected rows: nothing of a stream
 * goes, and of a file only what is behind the mark. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/import_reject_file.h"

static char box[] = "/tmp/test_import_reject.XXXXXX";

static int make_box(void **state)
{
    (void)state;
    return mkdtemp(box) == NULL || chdir(box) != 0 ? -1 : 0;
}

static int remove_box(void **state)
{
    (void)state;
    (void)unlink("rows");
    (void)unlink("link");
    (void)unlink("second");
    return chdir("/") != 0 || rmdir(box) != 0 ? -1 : 0;
}

static void make(const char *text)
{
    FILE *file = fopen("rows", "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void has(const char *text)
{
    char now[200] = "";
    FILE *file = fopen("rows", "r");
    assert_non_null(file);
    now[fread(now, 1, sizeof now - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(now, text);
}

static void write_row(const char *path, const char *text)
{
    FILE *file = import_reject_file_open(path);
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
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
    assert_true(import_reject_file_trim("rows", 0)); /* There is none. */
    make("1\ta\n9\tb\n2\tc\n3\td");
    assert_int_equal(chmod("rows", 0640), 0);
    assert_true(import_reject_file_trim("rows", 3)); /* A line that was cut is none. */
    has("1\ta\n2\tc\n");
    assert_int_equal(stat("rows", &status), 0);
    assert_int_equal(status.st_mode & 0777u, 0640);
    make_link("rows", "link");
    assert_true(import_reject_file_trim("link", 1));
    has("1\ta\n");
    write_row("link", "4\te\n");
    has("1\ta\n4\te\n");
    assert_true(import_reject_file_trim("link", 0));
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
        assert_true(import_reject_file_trim(paths[i], 0));
        assert_true(import_reject_file_trim(paths[i], 1));
        has("a line of somebody else\n");
    }
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* A stream is not taken from others. */
    write_row("second", "1\ta\n");
    has("a line of somebody else\n1\ta\n");
    (void)close(fd);
    assert_true(import_reject_file_trim("/dev/null", 0));
    write_row("/dev/null", "1\ta\n");
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
    cut = !import_reject_file_trim("/dev/stderr", 0);
    cut_by_name = !import_reject_file_trim("rows", 0);
    FILE *file = import_reject_file_open("/dev/stderr");
    if (file != NULL) {
        second = fputs("1\ta\n", file) >= 0 && fclose(file) == 0;
        (void)fprintf(stderr, "behind\n");
    }
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(fd);
    assert_false(cut);
    assert_false(cut_by_name);
    assert_true(second);
    has("before\n1\ta\nbehind\n");
}

static void another_import(void **state)
{
    (void)state;
    make("1\ta\n2\tb\n");
    FILE *file = import_reject_file_open("rows");
    assert_non_null(file);
    for (uint64_t mark = 0; mark < 2; mark++) {
        errno = 0;
        assert_false(import_reject_file_trim("rows", mark));
        assert_int_equal(errno, EWOULDBLOCK);
    }
    errno = 0;
    assert_null(import_reject_file_open("rows"));
    assert_int_equal(errno, EWOULDBLOCK);
    has("1\ta\n2\tb\n");
    fclose(file);
    assert_true(import_reject_file_trim("rows", 1));
    has("1\ta\n");
}

static void failures(void **state)
{
    (void)state;
    make("1\ta\n2\tb\n");
    assert_int_equal(mkdir("rows.new", 0700), 0);
    assert_false(import_reject_file_trim("rows", 1));
    assert_int_equal(errno, EISDIR);
    has("1\ta\n2\tb\n");
    assert_int_equal(rmdir("rows.new"), 0);
    assert_null(import_reject_file_open("nowhere/rows"));
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trimmed),        cmocka_unit_test(streams),
        cmocka_unit_test(standard_error), cmocka_unit_test(another_import),
        cmocka_unit_test(failures),
    };
    return cmocka_run_group_tests(tests, make_box, remove_box);
}
