/* test_log_follow.c -- a log that is moved away, or removed, goes on under its name.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "service/log_follow.h"
#include "tests/unit/support/temp_directory.h"

static char directory[TEMP_DIRECTORY_SIZE];
static char path[64];
static char moved[64];
static int fd;

static int setup(void **state)
{
    (void)state;
    temp_directory_make(directory);
    (void)snprintf(path, sizeof path, "%s/log", directory);
    (void)snprintf(moved, sizeof moved, "%s/log.1", directory);
    fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    return fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    close(fd);
    temp_directory_remove(directory);
    return 0;
}

static void say(const char *text)
{
    log_follow(fd, path);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void assert_file(const char *name, const char *text)
{
    char got[64] = "";
    FILE *file = fopen(name, "re");
    assert_non_null(file);
    (void)fread(got, 1, sizeof got - 1, file);
    (void)fclose(file);
    assert_string_equal(got, text);
}

static void a_moved_log_goes_on_under_its_name(void **state)
{
    struct stat named;
    (void)state;
    say("a");
    say("b");
    assert_int_equal(rename(path, moved), 0);
    say("c");
    say("d");
    assert_file(moved, "ab");
    assert_file(path, "cd");
    assert_int_equal(stat(path, &named), 0);
    assert_int_equal(named.st_mode & 0777, 0600); /* As that of the old one. */
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFL) & O_APPEND, O_APPEND);
}

static void a_file_that_was_made_in_its_place_is_taken(void **state)
{
    (void)state;
    say("a");
    assert_int_equal(rename(path, moved), 0);
    int other = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(other, "made ", 5), 5);
    (void)close(other);
    say("b");
    assert_file(path, "made b");
}

static void a_removed_log_is_made_again(void **state)
{
    (void)state;
    say("a");
    assert_int_equal(unlink(path), 0);
    say("b");
    assert_file(path, "b");
}

static void without_its_directory_the_old_file_stays(void **state)
{
    char away[64];
    (void)state;
    (void)snprintf(away, sizeof away, "%s.away", directory);
    say("a");
    assert_int_equal(rename(directory, away), 0);
    say("b");
    assert_int_equal(rename(away, directory), 0);
    assert_file(path, "ab");
}

static void standard_error_goes_with_it(void **state)
{
    int kept = dup(STDERR_FILENO);
    (void)state;
    assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
    say("a");
    assert_int_equal(rename(path, moved), 0);
    log_follow(fd, path);
    ssize_t written = write(STDERR_FILENO, "b", 1);
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    (void)close(kept);
    assert_int_equal(written, 1);
    assert_file(moved, "a");
    assert_file(path, "b");
}

static void standard_output_itself_may_be_the_log(void **state)
{
    struct stat out;
    struct stat named;
    int kept = dup(STDOUT_FILENO);
    (void)state;
    (void)fflush(stdout);
    assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
    (void)rename(path, moved);
    log_follow(STDOUT_FILENO, path);
    int got = fstat(STDOUT_FILENO, &out);
    int flags = fcntl(STDOUT_FILENO, F_GETFD);
    assert_int_equal(dup2(kept, STDOUT_FILENO), STDOUT_FILENO);
    (void)close(kept);
    assert_int_equal(got, 0);
    assert_int_equal(flags, 0);
    assert_int_equal(stat(path, &named), 0);
    assert_true(out.st_ino == named.st_ino);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_moved_log_goes_on_under_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_was_made_in_its_place_is_taken, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_removed_log_is_made_again, setup, teardown),
        cmocka_unit_test_setup_teardown(without_its_directory_the_old_file_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(standard_error_goes_with_it, setup, teardown),
        cmocka_unit_test_setup_teardown(standard_output_itself_may_be_the_log, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
