/* test_mgmd_lock.c -- who has the lock of a configuration directory, and what is said of it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
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
static struct mgmd_lock *to_free; /* This one ends between the opening of the file and the lock, */
static uint32_t frees_at;         /* when so many locks have been tried. */
static const char *to_write;      /* The lock's owner writes this then. */

int flock(int fd, int operation)
{
    if (to_free != NULL && --frees_at == 0) {
        if (to_write != NULL)
            (void)!pwrite(to_free->fd, to_write, strlen(to_write), 0);
        else
            mgmd_lock_free(to_free);
        to_free = NULL;
    }
    errno = flock_error;
    return flock_error != 0 ? -1 : (int)syscall(SYS_flock, fd, operation);
}

static bool to_go; /* What is in the way goes between the opening and the look at it, */
static struct mgmd_lock *to_come; /* and this one comes in its place. */

int lstat(const char *path, struct stat *status)
{
    if (to_go) {
        to_go = false;
        assert_int_equal(remove(path), 0);
        if (to_come != NULL)
            assert_int_equal(mgmd_lock_take(to_come, directory, 49, why, sizeof(why)), 0);
    }
    return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
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
    to_free = NULL;
    to_write = NULL;
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

static void a_server_that_ends_is_waited_for(void **state)
{
    struct mgmd_lock first = {.fd = 0};
    struct mgmd_lock second = {.fd = 0};

    (void)state;
    assert_int_equal(take(&first, 49), 0);
    mgmd_lock_ends(&first);
    to_free = &first;
    frees_at = 3;
    assert_int_equal(take(&second, 49), 0);
    assert_null(to_free);
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
    frees_at = 1;
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
        assert_int_equal(lock.fd, 0);
        mgmd_lock_ends(&lock);
        mgmd_lock_free(&lock);
    }
}

/* Who has got no lock leaves that of the server that has one later. */
static void who_has_none_takes_none_away(void **state)
{
    struct mgmd_lock without = {.fd = 0};
    struct mgmd_lock first = {.fd = 0};
    struct mgmd_lock second = {.fd = 0};

    (void)state;
    flock_error = ENOLCK;
    assert_int_equal(take(&without, 49), 0);
    flock_error = 0;
    assert_int_equal(take(&first, 49), 0);
    mgmd_lock_ends(&without);
    mgmd_lock_free(&without);
    assert_int_equal(take(&second, 49), -1);
    mgmd_lock_free(&first);
}

/* The server that has the lock has not written its number yet: the killed one's is not told. */
static void a_killed_server_is_not_named(void **state)
{
    struct mgmd_lock first = {.fd = 0};
    struct mgmd_lock second = {.fd = 0};

    (void)state;
    assert_int_equal(take(&first, 49), 0);
    assert_int_equal(pwrite(first.fd, "4711\n", 5, 0), 5);
    to_free = &first;
    to_write = "4712\n";
    frees_at = 1;
    assert_int_equal(take(&second, 49), -1);
    assert_non_null(strstr(why, "(process 4712)"));
    mgmd_lock_free(&first);
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

/* What has the name and is no lock file is somebody else's. */
static void what_is_in_the_way_stays(void **state)
{
    struct mgmd_lock lock = {.fd = 0};
    char name[TEMP_DIRECTORY_SIZE + 20];
    char target[TEMP_DIRECTORY_SIZE + 20];
    static const char *const contents[] = {"precious", "4711 precious\n",
                                           "0123456789012345678901234567890\n"};

    (void)state;
    (void)snprintf(name, sizeof(name), "%sndb_49_lock", directory);
    (void)snprintf(target, sizeof(target), "%starget", directory);
    for (uint32_t kind = 0; kind < 3 + sizeof(contents) / sizeof(contents[0]); kind++) {
        temp_file_make(target, "precious");
        if (kind == 0) assert_int_equal(mkdir(name, 0700), 0);
        if (kind == 1) assert_int_equal(mkfifo(name, 0600), 0);
        if (kind == 2) assert_int_equal(symlink("target", name), 0);
        if (kind > 2) temp_file_make(name, contents[kind - 3]);
        assert_int_equal(take(&lock, 49), -1);
        assert_non_null(strstr(why, "ndb_49_lock is in the way: it is not the lock file"));
        mgmd_lock_ends(&lock);
        mgmd_lock_free(&lock);
        assert_true(is_there(&lock));
        temp_file_has(target, "precious");
        if (kind > 2) temp_file_has(name, contents[kind - 3]);
        assert_int_equal(remove(name), 0);
    }
}

/* It has gone when it is looked at, and perhaps another server is there. */
static void what_was_in_the_way_is_no_reason(void **state)
{
    struct mgmd_lock lock = {.fd = 0};
    struct mgmd_lock other = {.fd = 0};
    char name[TEMP_DIRECTORY_SIZE + 20];

    (void)state;
    (void)snprintf(name, sizeof(name), "%sndb_49_lock", directory);
    for (uint32_t kind = 0; kind < 6; kind++) {
        if (kind % 3 == 0) assert_int_equal(mkdir(name, 0700), 0);
        if (kind % 3 == 1) assert_int_equal(symlink("target", name), 0);
        if (kind % 3 == 2) temp_file_make(name, "precious");
        to_come = kind < 3 ? NULL : &other;
        to_go = true;
        /* A file that is somebody else's is refused at once when there is one again. */
        assert_int_equal(take(&lock, 49), kind < 3 ? 0 : -1);
        assert_false(to_go);
        if (kind == 3 || kind == 4) assert_non_null(strstr(why, "is in use by another"));
        mgmd_lock_free(&lock);
        assert_int_equal(is_there(&lock), kind >= 3);
        mgmd_lock_free(&other);
    }
}

/* Another user's server may run. Root opens any file, so this is tried without its rights. */
static void a_file_of_another_user_is_refused(void **state)
{
    static const mode_t modes[] = {0777, 0755}; /* Where this one may write, and where not. */
    struct mgmd_lock lock = {.fd = 0};
    char name[TEMP_DIRECTORY_SIZE + 20];

    (void)state;
    (void)snprintf(name, sizeof(name), "%sndb_49_lock", directory);
    uid_t user = geteuid();
    for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        temp_file_make(name, "");
        assert_int_equal(chmod(name, 0), 0);
        assert_int_equal(chmod(box, modes[i]), 0);
        if (user == 0 && seteuid(65534) != 0) skip();
        int result = take(&lock, 49);
        if (user == 0) assert_int_equal(seteuid(0), 0);
        assert_int_equal(result, -1);
        assert_non_null(
            strstr(why, "ndb_49_lock cannot be opened: Permission denied; another user's"));
        assert_true(is_there(&lock));
        assert_int_equal(chmod(box, 0700), 0);
        assert_int_equal(unlink(name), 0);
    }
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
        cmocka_unit_test_setup_teardown(who_has_none_takes_none_away, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_server_is_not_named, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_in_the_way_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_in_the_way_is_no_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_of_another_user_is_refused, setup, teardown)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
