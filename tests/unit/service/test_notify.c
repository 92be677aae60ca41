/* test_notify.c -- what a service manager hears that is busy when a program has something to say.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "service/notify.h"
#include "tests/unit/support/temp_directory.h"

static char directory[TEMP_DIRECTORY_SIZE];
static char path[64];
static int manager;

static int setup(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    temp_directory_make(directory);
    int length = snprintf(path, sizeof path, "%s/socket", directory);
    memcpy(address.sun_path, path, (size_t)length + 1);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (bind(manager, (const struct sockaddr *)&address, sizeof address) != 0) return -1;
    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", "1", 1); /* Shorter than anybody can be. */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    close(manager);
    temp_directory_remove(directory);
    return 0;
}

/* The next word of a manager that takes one, "" = there is none. */
static const char *heard(void)
{
    static char text[600];
    ssize_t size = recv(manager, text, sizeof text - 1, 0);
    text[size < 0 ? 0 : size] = '\0';
    return text;
}

/* Its queue is as full as it gets; words that are only of use now are lost. */
static void fill(void)
{
    for (uint32_t i = 0; i < 2000; i++)
        service_status("%u", i);
}

static void ready_at_once(void **state)
{
    (void)state;
    service_ready("Node %u is started", 3u);
    assert_string_equal(heard(), "READY=1\nSTATUS=Node 3 is started");
    service_alive(1000);
    assert_string_equal(heard(), "WATCHDOG_USEC=0");
    assert_string_equal(heard(), "");
}

static void ready_is_owed_while_nobody_listens(void **state)
{
    const char *word;
    (void)state;
    fill();
    service_ready("late");
    service_alive(1000); /* Still busy. */
    while (*(word = heard()) != '\0')
        assert_null(strstr(word, "READY"));
    service_alive(1000);
    assert_string_equal(heard(), "READY=1\nSTATUS=late");
    service_alive(1000);
    assert_string_equal(heard(), ""); /* Once. */
}

static void the_watch_begins_when_the_manager_has_heard_it(void **state)
{
    (void)state;
    setenv("WATCHDOG_USEC", "20000000", 1);
    service_not_watched();
    assert_string_equal(heard(), "WATCHDOG_USEC=0");
    fill();
    service_alive(1000);
    while (*heard() != '\0') {
    }
    service_alive(1000);
    assert_string_equal(heard(), "WATCHDOG_USEC=20000000\nWATCHDOG=1");
    service_alive(1000);
    assert_string_equal(heard(), ""); /* It is a quarter of the time at most. */
}

static void without_a_manager_nothing_happens(void **state)
{
    (void)state;
    unsetenv("NOTIFY_SOCKET");
    service_ready("nobody");
    service_alive(1000);
    assert_string_equal(heard(), "");
    setenv("NOTIFY_SOCKET", path, 1);
    service_alive(1000);
    assert_string_equal(heard(), ""); /* Nothing is owed to nobody. */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ready_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(ready_is_owed_while_nobody_listens, setup, teardown),
        cmocka_unit_test_setup_teardown(the_watch_begins_when_the_manager_has_heard_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_a_manager_nothing_happens, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
