/* test_mgmd_lock.c -- who has the lock of a configuration directory, and what is said of it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mgmd/mgmd_lock.h"
#include "tests/unit/support/temp_directory.h"

static char box[TEMP_DIRECTORY_SIZE];
static char directory[TEMP_DIRECTORY_SIZE + 2];
static char why[400];

/* ---- What mgmd_lock.c calls. ---- */

static int flock_error;           /* The file system says this. */
static struct mgmd_lock *to_free; /* This one ends between the opening of the file and the lock. */

int flock(int fd, int operation)
{
    struct mgmd_lock *ends = to_free;

    to_free = NULL;
    if (ends != NULL) mgmd_lock_free(ends);
    errno = flock_error;
    return flock_error != 0 ? -1 : (int)syscall(SYS_flock, fd, operation);
}

/* ---- */

static int setup(void **state)
{
    (void)state;
    temp_directory_make(box);
    (void)snprintf(directory, sizeof(directory), "%s/", box);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    flock_error = 0;
    temp_directory_remove(box);
    return 0;
}

static int take(struct mgmd_lock *lock, uint32_t node)
{
    return mgmd_lock_take(lock, directory, node, why, sizeof(why));
}

static bool is_there(const struct mgmd_lock *lock)
{
    return access(lock->path, F_OK) == 0;
}

static void a_second_server_is_refused(void **state)
{
    struct mgmd_lock first = {.fd = 0};
    struct mgmd_lock second = {.fd = 0};
    struct mgmd_lock other = {.fd = 0};
    char text[200];

    (void)state;
    assert_int_equal(take(&first, 49), 0);
    assert_string_equal(why, "");
    assert_int_equal(take(&second, 49), -1);
    (void)snprintf(text, sizeof(text),
                   "%s is in use by another management server with the node id 49 (process %ld); ",
                   directory, (long)getpid());
    assert_int_equal(strncmp(why, text, strlen(text)), 0);
    mgmd_lock_free(&second); /* It has none. */
    assert_true(is_there(&first));
    assert_int_equal(take(&other, 50), 0); /* Another server of the same directory. */
    mgmd_lock_free(&other);
    mgmd_lock_free(&first);
    assert_false(is_there(&first));
    assert_int_equal(take(&second, 49), 0);
    mgmd_lock_free(&second);
}

/* A killed server leaves the file, which says nothing. */
static void a_file_alone_is_no_lock(void **state)
{
    struct mgmd_lock lock = {.fd = 0};
    char name[TEMP_DIRECTORY_SIZE + 20];

    (void)state;
    (void)snprintf(name, sizeof(name), "%sndb_49_lock", directory);
    FILE *file = fopen(name, "we");
    assert_non_null(file);
    assert_true(fputs("1\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(take(&lock, 49), 0);
    mgmd_lock_free(&lock);
}

static void *end_soon(void *lock)
{
    (void)usleep(250000);
    mgmd_lock_free(lock);
    return NULL;
}

static void a_server_that_ends_is_waited_for(void **state)
{
    struct mgmd_lock first = {.fd = 0};
    struct mgmd_lock second = {.fd = 0};
    pthread_t thread;

    (void)state;
    assert_int_equal(take(&first, 49), 0);
    mgmd_lock_ends(&first);
    assert_int_equal(pthread_create(&thread, NULL, end_soon, &first), 0);
    assert_int_equal(take(&second, 49), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_there(&second));
    mgmd_lock_free(&second);
}

/* The lock of a file that has lost its name is none: the next server would make another file. */
static void a_removed_file_is_no_lock(void **state)
{
    struct mgmd_lock first = {.fd = 0};
    struct mgmd_lock second = {.fd = 0};

    (void)state;
    assert_int_equal(take(&first, 49), 0);
    to_free = &first;
    assert_int_equal(take(&second, 49), 0);
    assert_true(is_there(&second));
    assert_int_equal(take(&first, 49), -1);
    mgmd_lock_free(&second);
}

static void a_file_system_without_locks_is_warned_of(void **state)
{
    static const int errors[] = {ENOLCK, EOPNOTSUPP, ENOSYS};
    struct mgmd_lock lock = {.fd = 0};

    (void)state;
    for (uint32_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        flock_error = errors[i];
        assert_int_equal(take(&lock, 49), 0);
        assert_non_null(strstr(why, "ndb_49_lock cannot be locked: "));
        assert_non_null(strstr(why, strerror(errors[i])));
        mgmd_lock_ends(&lock);
        mgmd_lock_free(&lock);
        assert_false(is_there(&lock));
    }
}

/* Who may not write there changes nothing. */
static void a_directory_that_is_not_there_needs_none(void **state)
{
    struct mgmd_lock lock = {.fd = 0};

    (void)state;
    assert_int_equal(mgmd_lock_take(&lock, "/no/such/directory/", 49, why, sizeof(why)), 0);
    assert_string_equal(why, "");
    assert_int_equal(lock.fd, 0);
    mgmd_lock_ends(&lock);
    mgmd_lock_free(&lock);
}

/* In a directory that can be written something else has the name. */
static void a_file_that_cannot_be_opened_is_warned_of(void **state)
{
    struct mgmd_lock lock = {.fd = 0};
    char name[TEMP_DIRECTORY_SIZE + 20];

    (void)state;
    (void)snprintf(name, sizeof(name), "%sndb_49_lock", directory);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(take(&lock, 49), 0);
    assert_non_null(strstr(why, "cannot be locked: Is a directory"));
    mgmd_lock_free(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_second_server_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_alone_is_no_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_ends_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_removed_file_is_no_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_system_without_locks_is_warned_of, setup, teardown),
        cmocka_unit_test_setup_teardown(a_directory_that_is_not_there_needs_none, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_cannot_be_opened_is_warned_of, setup,
                                        teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
