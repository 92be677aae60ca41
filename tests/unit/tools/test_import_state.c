/* test_import_state.c -- the name of a new state: what a killed run has left there goes, and what is
 * somebody else's stays. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/support/temp_directory.h"
#include "tools/import_state.h"

static struct import_state_kept kept; /* What the last run has left. */

/* One run, which saves its first state and another one. */
static bool saves(bool resume)
{
    static const struct import_what what = {.path = "t", .table = "d/t", .fd = -1};
    struct import_state state;
    struct import_what now = what;
    now.fd = open("/dev/null", O_RDONLY);
    bool good = import_state_begin(&state, ".", "t", &now, resume) &&
                import_state_save(&state, 1, 1) && import_state_save(&state, 2, 2);
    kept = good ? import_state_kept(&state) : (struct import_state_kept){.kept = false};
    import_state_free(&state);
    (void)close(now.fd);
    return good;
}

static void of_somebody_else(void **state)
{
    (void)state;
    temp_file_make("t.map.new", "a file of somebody else\n");
    assert_false(saves(false));
    temp_file_has("t.map.new", "a file of somebody else\n");
    assert_int_equal(unlink("t.map.new"), 0);
    temp_file_make("other", "");
    assert_int_equal(symlink("other", "t.map.new"), 0);
    assert_false(saves(false));
    temp_file_has("other", "");
    assert_int_equal(unlink("t.map.new"), 0);
    assert_int_equal(mkdir("t.map.new", 0700), 0);
    assert_false(saves(false));
    assert_int_equal(rmdir("t.map.new"), 0);
    assert_int_equal(access("t.map", F_OK), -1);
}

/* Without --resume a state is replaced, and it is removed when all is done. */
static void state_of_somebody_else(void **state)
{
    static const char text[] = "runno = 1\nof another program\n";
    (void)state;
    temp_file_make("t.map", text);
    assert_false(saves(false));
    assert_false(saves(true));
    temp_file_has("t.map", text);
    import_state_remove(".", "t", &kept);
    temp_file_has("t.map", text);
    assert_int_equal(unlink("t.map"), 0);
    assert_true(saves(false));
    assert_int_equal(unlink("t.map"), 0);
    import_state_remove(".", "t", &kept); /* There is none. */
    assert_true(saves(false));
    struct import_state_kept first = kept;
    assert_true(saves(false)); /* Another import, which was killed. */
    import_state_remove(".", "t", &first);
    assert_int_equal(access("t.map", F_OK), 0);
    import_state_remove(".", "t", &(struct import_state_kept){.kept = false}); /* A pipe's. */
    assert_int_equal(access("t.map", F_OK), 0);
    int fd = open("t.map", O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0); /* Another import has begun meanwhile. */
    import_state_remove(".", "t", &kept);
    assert_int_equal(access("t.map", F_OK), 0);
    (void)close(fd);
    import_state_remove(".", "t", &kept);
    assert_int_equal(access("t.map", F_OK), -1);
}

static void left_over(void **state)
{
    static const char *const texts[] = {
        "", "runno\tst", "runno\tstart\tend\trows\tstartpos\tendpos\tbytes\treject\tstate\n1\t0"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        temp_file_make("t.map.new", texts[i]);
        assert_true(saves(i > 0));
        assert_int_equal(access("t.map.new", F_OK), -1);
    }
    /* The first state had both names when the run was killed. */
    assert_int_equal(link("t.map", "t.map.new"), 0);
    assert_true(saves(true));
    assert_int_equal(access("t.map.new", F_OK), -1);
}

static void in_use(void **state)
{
    (void)state;
    temp_file_make("t.map.new", "");
    int fd = open("t.map.new", O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_false(saves(false));
    assert_int_equal(access("t.map.new", F_OK), 0);
    (void)close(fd);
    assert_true(saves(false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_somebody_else),
        cmocka_unit_test(state_of_somebody_else),
        cmocka_unit_test(left_over),
        cmocka_unit_test(in_use),
    };
    return cmocka_run_group_tests(tests, temp_directory_enter, temp_directory_leave);
}
