/* test_path_place.c -- names of one file that differ, also of a file that is not there yet. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "service/path_place.h"
#include "tests/unit/support/temp_directory.h"

static int setup(void **state)
{
    return temp_directory_enter(state) != 0 || mkdir("deep", 0700) != 0 ||
                   symlink("deep", "way") != 0
               ? -1
               : 0;
}

static void is_at(const char *path, const char *end)
{
    char place[PATH_MAX], here[PATH_MAX], expected[2 * PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(expected, sizeof expected, "%s/%s", here, end);
    assert_true(path_place(path, place, sizeof place));
    assert_string_equal(place, expected);
}

static void not_there_yet(void **state)
{
    char place[PATH_MAX];
    (void)state;
    is_at("new", "new");
    is_at("./deep/../new", "new");
    is_at("way/new", "deep/new");
    assert_false(path_place("nowhere/new", place, sizeof place));
    assert_false(path_place("new", place, 8));
    assert_true(path_same("new", "./way/../new"));
    assert_false(path_same("new", "way/new"));
    assert_false(path_same("nowhere/new", "nowhere/new"));
    assert_true(path_place("/no-such-file", place, sizeof place));
    assert_string_equal(place, "/no-such-file");
}

static void there(void **state)
{
    (void)state;
    int fd = open("deep/file", O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(symlink("way/file", "link"), 0);
    assert_int_equal(link("deep/file", "hard"), 0);
    is_at("link", "deep/file");
    assert_true(path_same("link", "deep/file"));
    assert_true(path_same("hard", "link"));
    assert_false(path_same("hard", "new"));
}

/* What is written to such a name makes the file that the links lead to. */
static void links_to_nothing(void **state)
{
    char place[PATH_MAX];
    (void)state;
    assert_int_equal(symlink("absent", "deep/first"), 0);
    assert_int_equal(symlink("way/first", "second"), 0);
    is_at("second", "deep/absent");
    assert_true(path_same("second", "deep/absent"));
    assert_int_equal(symlink("nowhere/absent", "third"), 0);
    assert_false(path_place("third", place, sizeof place));
    assert_int_equal(symlink("circle", "circle"), 0);
    assert_false(path_place("circle", place, sizeof place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(not_there_yet), cmocka_unit_test(there),
                                       cmocka_unit_test(links_to_nothing)};
    return cmocka_run_group_tests(tests, setup, temp_directory_leave);
}
