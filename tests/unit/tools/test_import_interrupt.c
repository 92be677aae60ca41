/* test_import_interrupt.c -- the first signal is noted, and the second ends the import. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/import.h"

enum { SURVIVED = 0, NOT_NOTED = 1, STILL_WAITS = 2 };

/* What becomes of an import that gets these signals one after the other. `ignored`: by who has
 * started it. */
static int signals(int first, int second, int ignored)
{
    int status;
    int nothing[2];
    assert_int_equal(pipe(nothing), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGINT, SIG_DFL); /* Whatever the test was started with. */
        (void)signal(SIGTERM, SIG_DFL);
        if (ignored != 0) (void)signal(ignored, SIG_IGN);
        import_interrupts_begin();
        (void)raise(first);
        if (import_interrupted() != (first == ignored ? 0 : first)) _exit(NOT_NOTED);
        if (first != ignored && import_readable(nothing[0], -1) >= 0) _exit(STILL_WAITS);
        (void)raise(second);
        _exit(SURVIVED);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)close(nothing[0]);
    (void)close(nothing[1]);
    return status;
}

static void ended_by(int number, int status)
{
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

static void the_second_one_ends_it(void **state)
{
    (void)state;
    ended_by(SIGINT, signals(SIGINT, SIGINT, 0));
    ended_by(SIGTERM, signals(SIGINT, SIGTERM, 0));
    ended_by(SIGINT, signals(SIGTERM, SIGINT, 0));
    ended_by(SIGTERM, signals(SIGTERM, SIGTERM, 0));
}

static void what_was_ignored_still_is(void **state)
{
    (void)state;
    assert_int_equal(signals(SIGTERM, SIGINT, SIGINT), SURVIVED);
    assert_int_equal(signals(SIGINT, SIGTERM, SIGINT), SURVIVED); /* The one that counts first. */
}

static void count(void *context)
{
    ++*(uint32_t *)context;
}

/* It reads what is in the pipe when it has been called some times. */
struct late_reader {
    uint32_t times;
    int end;
};

static void read_late(void *context)
{
    static char text[1 << 16];
    struct late_reader *reader = context;
    if (++reader->times == 3) assert_true(read(reader->end, text, sizeof text) > 0);
}

/* Who waits for a reader does something else meanwhile. */
static void a_full_pipe_is_waited_for(void **state)
{
    static const char text[4096];
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], text, sizeof text) > 0) {
    }
    struct late_reader reader = {.end = ends[0]};
    assert_true(import_writable(ends[1], read_late, &reader));
    assert_int_equal(reader.times, 3);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Who does not read on is waited for until a signal comes, and for a moment then. */
static void a_full_pipe_is_given_up(void **state)
{
    static const char text[4096];
    uint32_t times = 0;
    int ends[2];
    int status;
    (void)state;
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGINT, SIG_DFL);
        import_interrupts_begin();
        if (!import_writable(ends[1], count, &times)) _exit(STILL_WAITS);
        while (write(ends[1], text, sizeof text) > 0) {
        }
        (void)raise(SIGINT);
        bool full = !import_writable(ends[1], count, &times) && errno == ECANCELED;
        _exit(full && times > 2 ? SURVIVED : STILL_WAITS);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_int_equal(status, SURVIVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_one_ends_it), cmocka_unit_test(what_was_ignored_still_is),
        cmocka_unit_test(a_full_pipe_is_waited_for), cmocka_unit_test(a_full_pipe_is_given_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
