/* test_path_in_proc.c -- names of descriptors are known behind any number of links. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/path_in_proc.h"
#include "tests/unit/support/temp_directory.h"

static char directory[TEMP_DIRECTORY_SIZE];

static int setup(void **state)
{
    (void)state;
    temp_directory_make(directory);
    return chdir(directory);
}

static int teardown(void **state)
{
    (void)state;
    int rc = chdir("/");
    temp_directory_remove(directory);
    return rc;
}

static void descriptors_are(void **state)
{
    (void)state;
    assert_true(path_in_proc("/proc/self/fd/1"));
    assert_true(path_in_proc("/dev/stdout"));
    assert_true(path_in_proc("/dev/stderr"));
    assert_true(path_in_proc("/dev/fd/1"));
}

static void files_are_not(void **state)
{
    char longest[PATH_MAX + 100];

    (void)state;
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    assert_int_equal(symlink("round", "round"), 0);
    assert_int_equal(symlink("/dev/null", "null"), 0);
    assert_false(path_in_proc("dangling"));
    assert_false(path_in_proc("round"));
    assert_false(path_in_proc("null"));
    assert_false(path_in_proc("no/such/directory"));
    assert_false(path_in_proc("file"));
    assert_false(path_in_proc(directory));
    assert_false(path_in_proc("/dev"));
    assert_false(path_in_proc(""));
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_false(path_in_proc(longest));
}

/* The first of ten links, each of which leads to the next one, the last to `target`. */
static void chain(const char *target)
{
    char name[16];
    char next[16];

    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof(name), "link%d", i);
        (void)snprintf(next, sizeof(next), "link%d", i + 1);
        assert_int_equal(symlink(i == 9 ? target : next, name), 0);
    }
}

static void links_are_followed_to_the_end(void **state)
{
    char name[64];

    (void)state;
    chain("/dev/stdout");
    (void)snprintf(name, sizeof(name), "%s/link0", directory);
    assert_true(path_in_proc(name));
    assert_true(path_in_proc("link0"));
    assert_true(path_in_proc("./link9"));
}

static void links_to_files_are_not(void **state)
{
    (void)state;
    chain("file");
    assert_false(path_in_proc("link0"));
}

/* A link is read from where it lies, and may be in a directory that is reached by a link. */
static void links_in_other_directories_are_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir("a", 0700), 0);
    assert_int_equal(mkdir("b", 0700), 0);
    assert_int_equal(symlink("../b/second", "a/first"), 0);
    assert_int_equal(symlink("/dev/stdout", "b/second"), 0);
    assert_int_equal(symlink("a", "c"), 0);
    assert_int_equal(symlink("/dev", "d"), 0);
    assert_true(path_in_proc("a/first"));
    assert_true(path_in_proc("c/first"));
    assert_true(path_in_proc("d/stdout"));
    assert_false(path_in_proc("d/null"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(descriptors_are, setup, teardown),
        cmocka_unit_test_setup_teardown(files_are_not, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_followed_to_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(links_to_files_are_not, setup, teardown),
        cmocka_unit_test_setup_teardown(links_in_other_directories_are_followed, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
