/* test_io_threads.c -- the real files: data, sizes, names, confinement, limits of the system, many
 * at a time. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <pthread.h>
#include <cmocka.h>
#include "ndbmtd/io_threads.h"

struct fixture {
    char parent[64];
    char directory[96];
    struct io_threads *io;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t done;
    uint32_t logged;
    uint32_t fault_op;
    int fault_errno;
};

static void on_done(void *context, struct io_request *request)
{
    struct fixture *fixture = context;
    pthread_mutex_lock(&fixture->lock);
    request->tag = 1;
    fixture->done++;
    pthread_cond_broadcast(&fixture->changed);
    pthread_mutex_unlock(&fixture->lock);
}

static void on_log(void *context, enum log_level level, const char *text)
{
    struct fixture *fixture = context;
    (void)level;
    (void)text;
    pthread_mutex_lock(&fixture->lock);
    fixture->logged++;
    pthread_mutex_unlock(&fixture->lock);
}

static int on_fault(void *context, enum io_op op, const char *name)
{
    const struct fixture *fixture = context;
    (void)name;
    return op == fixture->fault_op ? fixture->fault_errno : 0;
}

static struct io_threads *start(struct fixture *fixture, char *why, size_t why_size)
{
    struct io_options options = {
        .directory = fixture->directory,
        .threads = 3,
        .files_max = 20,
        .done = on_done,
        .log = on_log,
        .context = fixture,
        .fault = on_fault,
    };
    return io_threads_create(&options, why, why_size);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    char why[512];
    pthread_mutex_init(&fixture->lock, NULL);
    pthread_cond_init(&fixture->changed, NULL);
    snprintf(fixture->parent, sizeof fixture->parent, "io_test_XXXXXX");
    if (mkdtemp(fixture->parent) == NULL) return -1;
    snprintf(fixture->directory, sizeof fixture->directory, "%s/ndb_1_fs", fixture->parent);
    fixture->io = start(fixture, why, sizeof why);
    *state = fixture;
    return fixture->io == NULL ? -1 : 0;
}

static uint32_t run(struct fixture *fixture, struct io_request *request)
{
    request->tag = request->error = request->os_error = request->more = 0;
    request->done = 0;
    io_threads_submit(fixture->io, request);
    pthread_mutex_lock(&fixture->lock);
    while (request->tag == 0)
        pthread_cond_wait(&fixture->changed, &fixture->lock);
    pthread_mutex_unlock(&fixture->lock);
    return request->error;
}

static struct io_request named(uint32_t op, const char *name, uint32_t flags)
{
    struct io_request request = {.op = op, .flags = flags};
    snprintf(request.name, sizeof request.name, "%s", name);
    return request;
}

static uint32_t open_file(struct fixture *fixture, uint32_t handle, const char *name,
                          uint32_t flags)
{
    struct io_request request = named(IO_OPEN, name, flags);
    request.file = handle;
    return run(fixture, &request);
}

static uint32_t close_file(struct fixture *fixture, uint32_t handle)
{
    struct io_request request = {.op = IO_CLOSE, .file = handle};
    return run(fixture, &request);
}

static struct io_request data_request(uint32_t op, uint32_t handle, uint64_t offset, void *bytes,
                                      uint32_t size)
{
    struct io_request request = {.op = op, .file = handle, .offset = offset, .piece_count = 1};
    request.piece[0] = (struct io_piece){.memory = bytes, .size = size};
    return request;
}

static uint32_t remove_tree(struct fixture *fixture, const char *name, uint32_t *steps)
{
    struct io_request request = named(IO_REMOVE, name, IO_TREE);
    uint32_t error;
    *steps = 0;
    do {
        error = run(fixture, &request);
        (*steps)++;
    } while (error == IO_GOOD && request.more != 0);
    return error;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    uint32_t steps;
    fixture->fault_errno = 0;
    remove_tree(fixture, "", &steps);
    io_threads_stop(fixture->io);
    rmdir(fixture->directory);
    int left = rmdir(fixture->parent);
    pthread_mutex_destroy(&fixture->lock);
    pthread_cond_destroy(&fixture->changed);
    free(fixture);
    return left;
}

#define RW   (IO_READABLE | IO_WRITABLE)
#define MAKE (RW | IO_CREATE)

static void test_data(void **state)
{
    struct fixture *fixture = *state;
    uint8_t *bytes = aligned_alloc(IO_ALIGN, 65536);
    uint8_t *back = aligned_alloc(IO_ALIGN, 65536);
    for (uint32_t direct = 0; direct < 2; direct++) {
        uint32_t flags = MAKE | (direct != 0 ? IO_DIRECT : 0u);
        memset(bytes, (int)('a' + direct), 65536);
        assert_int_equal(open_file(fixture, 1, direct != 0 ? "D1/D2/direct" : "D1/plain", flags),
                         IO_GOOD);
        struct io_request write = data_request(IO_WRITE, 1, 4096, bytes, 8192);
        write.piece[1] = (struct io_piece){.memory = bytes + 8192, .size = 4096};
        write.piece_count = 2;
        write.flags = IO_THEN_SYNC;
        assert_int_equal(run(fixture, &write), IO_GOOD);
        assert_int_equal(write.done, 12288);
        struct io_request read = data_request(IO_READ, 1, 0, back, 65536);
        assert_int_equal(run(fixture, &read), IO_GOOD);
        assert_int_equal(read.done, 16384); /* The file ends there. */
        assert_int_equal(back[4095], 0);
        assert_memory_equal(back + 4096, bytes, 12288);
        struct io_request room = {
            .op = IO_PREALLOCATE, .file = 1, .size = 3u * 1024u * 1024u, .flags = IO_ZERO};
        assert_int_equal(run(fixture, &room), IO_GOOD);
        assert_int_equal(run(fixture, &read), IO_GOOD);
        assert_int_equal(read.done, 65536);
        assert_memory_equal(back + 4096, bytes, 12288);
        assert_int_equal(back[20000], 0);
        struct io_request cut = {.op = IO_TRUNCATE, .file = 1, .size = 8192};
        assert_int_equal(run(fixture, &cut), IO_GOOD);
        struct io_request sync = {.op = IO_SYNC, .file = 1};
        assert_int_equal(run(fixture, &sync), IO_GOOD);
        assert_int_equal(run(fixture, &read), IO_GOOD);
        assert_int_equal(read.done, 8192);
        assert_int_equal(close_file(fixture, 1), IO_GOOD);
        struct io_request again =
            named(IO_OPEN, direct != 0 ? "D1/D2/direct" : "D1/plain", RW | IO_EMPTY);
        again.file = 1;
        assert_int_equal(run(fixture, &again), IO_GOOD);
        assert_int_equal(again.done, 0);
        assert_int_equal(close_file(fixture, 1), IO_GOOD);
    }
    free(bytes);
    free(back);
}

static void test_names(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(open_file(fixture, 1, "none/x", RW), IO_MISSING);
    assert_int_equal(open_file(fixture, 1, "none", RW), IO_MISSING);
    assert_int_equal(open_file(fixture, 1, "a/one", MAKE | IO_EXCLUSIVE), IO_GOOD);
    assert_int_equal(close_file(fixture, 1), IO_GOOD);
    assert_int_equal(open_file(fixture, 1, "a/one", MAKE | IO_EXCLUSIVE), IO_EXISTS);
    assert_int_equal(open_file(fixture, 1, "a/one/x", MAKE), IO_BAD_PATH);
    assert_int_equal(open_file(fixture, 1, "a", IO_READABLE), IO_BAD_PATH);
    assert_int_equal(open_file(fixture, 1, "a/two", MAKE), IO_GOOD);
    assert_int_equal(close_file(fixture, 1), IO_GOOD);
    struct io_request rename = named(IO_RENAME, "a/one", 0);
    snprintf(rename.new_name, sizeof rename.new_name, "a/two");
    assert_int_equal(run(fixture, &rename), IO_EXISTS);
    rename.flags = IO_REPLACE;
    assert_int_equal(run(fixture, &rename), IO_GOOD);
    assert_int_equal(run(fixture, &rename), IO_MISSING);
    struct io_request remove = named(IO_REMOVE, "a", 0);
    assert_int_equal(run(fixture, &remove), IO_BAD_PATH);
    remove = named(IO_REMOVE, "a/two", 0);
    assert_int_equal(run(fixture, &remove), IO_GOOD);
    assert_int_equal(run(fixture, &remove), IO_GOOD); /* It is not there: as wished. */
    struct stat status;
    char path[128];
    snprintf(path, sizeof path, "%s/a/two", fixture->directory);
    assert_int_equal(stat(path, &status), -1);
}

static void test_list_and_trees(void **state)
{
    struct fixture *fixture = *state;
    uint32_t *page = malloc(2048);
    uint32_t steps;
    char name[60];
    for (uint32_t i = 0; i < 150; i++) {
        snprintf(name, sizeof name, "T/%u/F%03u", i % 3, i);
        assert_int_equal(open_file(fixture, 2, name, MAKE), IO_GOOD);
        assert_int_equal(close_file(fixture, 2), IO_GOOD);
    }
    struct io_request list = named(IO_LIST, "T/1", 0);
    list.piece[0] = (struct io_piece){.memory = (uint8_t *)page, .size = 1000};
    list.piece_count = 1;
    uint32_t found = 0;
    do {
        assert_int_equal(run(fixture, &list), IO_GOOD);
        for (uint32_t at = 0; at < list.done / 4u; at += page[at]) {
            struct io_entry entry;
            memcpy(&entry, page + at, sizeof entry);
            assert_int_equal(entry.kind, IO_ENTRY_FILE);
            memset(list.new_name, 0, sizeof list.new_name);
            memcpy(list.new_name, page + at + sizeof entry / 4u, entry.name_size);
            snprintf(name, sizeof name, "F%03u", found * 3 + 1);
            assert_string_equal(list.new_name, name);
            found++;
        }
    } while (list.more != 0);
    assert_int_equal(found, 50);
    assert_int_equal(remove_tree(fixture, "T/2", &steps), IO_GOOD);
    assert_int_equal(remove_tree(fixture, "T", &steps), IO_GOOD);
    assert_true(steps >= 2); /* 102 entries are more than one step. */
    assert_int_equal(remove_tree(fixture, "T", &steps), IO_GOOD);
    list = named(IO_LIST, "T", 0);
    assert_int_equal(run(fixture, &list), IO_MISSING);
    free(page);
}

/* Nothing outside of the directory can be reached, whatever an intruder has put into it. */
static void test_confinement(void **state)
{
    struct fixture *fixture = *state;
    char path[160];
    char outside[160];
    snprintf(outside, sizeof outside, "%s/outside", fixture->parent);
    assert_int_equal(mkdir(outside, 0700), 0);
    snprintf(path, sizeof path, "%s/outside/secret", fixture->parent);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    snprintf(path, sizeof path, "%s/link", fixture->directory);
    assert_int_equal(symlink("../outside", path), 0);
    snprintf(path, sizeof path, "%s/file", fixture->directory);
    assert_int_equal(symlink("../outside/secret", path), 0);
    snprintf(path, sizeof path, "%s/pipe", fixture->directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(open_file(fixture, 1, "link/secret", RW), IO_BAD_PATH);
    assert_int_equal(open_file(fixture, 1, "link/new", MAKE), IO_BAD_PATH);
    assert_int_equal(open_file(fixture, 1, "file", RW | IO_EMPTY), IO_BAD_PATH);
    assert_int_equal(open_file(fixture, 1, "pipe", RW), IO_BAD_PATH);
    struct io_request rename = named(IO_RENAME, "link/secret", 0);
    snprintf(rename.new_name, sizeof rename.new_name, "mine");
    assert_int_equal(run(fixture, &rename), IO_BAD_PATH);
    uint32_t steps;
    assert_int_equal(remove_tree(fixture, "link", &steps), IO_GOOD); /* The link itself goes. */
    assert_int_equal(remove_tree(fixture, "", &steps), IO_GOOD);
    snprintf(path, sizeof path, "%s/outside/secret", fixture->parent);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    unlink(path);
    rmdir(outside);
}

static void test_errors_of_the_system(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        int number;
        uint32_t error;
    } map[] = {{ENOSPC, IO_FULL},     {EDQUOT, IO_QUOTA},  {EIO, IO_DEVICE},
               {EROFS, IO_READ_ONLY}, {EACCES, IO_DENIED}, {EMFILE, IO_NO_RESOURCES},
               {EFBIG, IO_TOO_LARGE}, {EBADMSG, IO_OTHER}};
    char bytes[] = "text";
    assert_int_equal(open_file(fixture, 1, "e", MAKE), IO_GOOD);
    for (uint32_t i = 0; i < sizeof map / sizeof map[0]; i++) {
        struct io_request write = data_request(IO_WRITE, 1, 0, bytes, 4);
        fixture->fault_errno = map[i].number;
        fixture->fault_op = IO_WRITE;
        assert_int_equal(run(fixture, &write), map[i].error);
        assert_int_equal(write.os_error, map[i].number);
        fixture->fault_op = IO_SYNC;
        write.flags = IO_THEN_SYNC;
        assert_int_equal(run(fixture, &write), map[i].error);
        assert_int_equal(write.more, 1); /* The sync failed, not the write. */
        struct io_request sync = {.op = IO_SYNC, .file = 1};
        assert_int_equal(run(fixture, &sync), map[i].error);
        fixture->fault_op = IO_OPEN;
        assert_int_equal(open_file(fixture, 2, "f", MAKE), map[i].error);
    }
    fixture->fault_errno = 0;
    assert_int_equal(close_file(fixture, 1), IO_GOOD);
    assert_int_equal(open_file(fixture, 1, "e", IO_READABLE), IO_GOOD);
    struct io_request write = data_request(IO_WRITE, 1, 0, bytes, 4);
    assert_int_not_equal(run(fixture, &write), IO_GOOD);
    assert_int_equal(close_file(fixture, 1), IO_GOOD);
}

static void test_size_limit(void **state)
{
    struct fixture *fixture = *state;
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit small = {.rlim_cur = 16384, .rlim_max = before.rlim_max};
    uint8_t *bytes = calloc(1, 65536);
    assert_int_equal(open_file(fixture, 1, "big", MAKE), IO_GOOD);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct io_request write = data_request(IO_WRITE, 1, 0, bytes, 65536);
    uint32_t error = run(fixture, &write);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(error, IO_TOO_LARGE); /* And the process lives. */
    assert_int_equal(close_file(fixture, 1), IO_GOOD);
    free(bytes);
}

/* On a file system of 1 MB, where the test may make one: the disk is full, and good again when
 * there is room. */
static void test_full_disk(void **state)
{
    struct fixture *fixture = *state;
    char why[512];
    io_threads_stop(fixture->io);
    bool mounted = mount("tmpfs", fixture->directory, "tmpfs", 0, "size=1m") == 0;
    fixture->io = start(fixture, why, sizeof why);
    assert_non_null(fixture->io);
    if (mounted) {
        uint8_t *bytes = aligned_alloc(IO_ALIGN, 4u << 20);
        memset(bytes, 1, 4u << 20);
        assert_int_equal(open_file(fixture, 1, "full", MAKE | IO_DIRECT), IO_GOOD);
        struct io_request write = data_request(IO_WRITE, 1, 0, bytes, 4u << 20);
        assert_int_equal(run(fixture, &write), IO_FULL);
        struct io_request room = {.op = IO_PREALLOCATE, .file = 1, .size = 8u << 20};
        assert_int_equal(run(fixture, &room), IO_FULL);
        struct io_request cut = {.op = IO_TRUNCATE, .file = 1};
        assert_int_equal(run(fixture, &cut), IO_GOOD);
        write.piece[0].size = 65536;
        assert_int_equal(run(fixture, &write), IO_GOOD);
        assert_int_equal(close_file(fixture, 1), IO_GOOD);
        uint32_t steps;
        assert_int_equal(remove_tree(fixture, "", &steps), IO_GOOD);
        free(bytes);
        io_threads_stop(fixture->io);
        assert_int_equal(
            mount("tmpfs", fixture->directory, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
        assert_null(start(fixture, why, sizeof why)); /* Read-only: told at the start. */
        assert_non_null(strstr(why, "FileSystemPath"));
        assert_int_equal(umount(fixture->directory), 0);
        fixture->io = start(fixture, why, sizeof why);
        assert_non_null(fixture->io);
    }
}

static void test_start(void **state)
{
    struct fixture *fixture = *state;
    char why[512];
    char directory[sizeof fixture->directory];
    memcpy(directory, fixture->directory, sizeof directory);
    snprintf(fixture->directory, sizeof fixture->directory, "%.60s/no/such", fixture->parent);
    assert_null(start(fixture, why, sizeof why));
    assert_non_null(strstr(why, "No such file"));
    snprintf(fixture->directory, sizeof fixture->directory, "%.60s/file", fixture->parent);
    int fd = open(fixture->directory, O_CREAT | O_WRONLY, 0600);
    close(fd);
    assert_null(start(fixture, why, sizeof why));
    assert_non_null(strstr(why, "cannot be opened"));
    unlink(fixture->directory);
    memcpy(fixture->directory, directory, sizeof directory);
}

static void test_one_process_only(void **state)
{
    struct fixture *fixture = *state;
    char why[512];
    assert_null(start(fixture, why, sizeof why));
    assert_non_null(strstr(why, "in use"));
}

/* Many at a time over several files, also past the number of threads; what is submitted before the
 * stop is done. */
static void test_many(void **state)
{
    struct fixture *fixture = *state;
    enum { FILES = 20, WRITES = 50 };
    struct io_request *requests = calloc(FILES * WRITES, sizeof *requests);
    uint8_t *bytes = calloc(FILES * WRITES, 512);
    char name[20];
    char why[512];
    for (uint32_t file = 0; file < FILES; file++) {
        snprintf(name, sizeof name, "m%u", file);
        assert_int_equal(open_file(fixture, file, name, MAKE), IO_GOOD);
    }
    for (uint32_t i = 0; i < FILES * WRITES; i++) {
        memset(bytes + i * 512u, (int)(i % 251 + 1), 512);
        requests[i] = data_request(IO_WRITE, i % FILES, i / FILES * 512u, bytes + i * 512u, 512);
        if (i % 97 == 0) requests[i].flags = IO_THEN_SYNC;
        io_threads_submit(fixture->io, &requests[i]);
    }
    io_threads_stop(fixture->io);
    fixture->io = start(fixture, why, sizeof why);
    assert_non_null(fixture->io);
    for (uint32_t i = 0; i < FILES * WRITES; i++) {
        assert_int_equal(requests[i].tag, 1);
        assert_int_equal(requests[i].error, IO_GOOD);
    }
    uint8_t back[512];
    for (uint32_t file = 0; file < FILES; file++) {
        snprintf(name, sizeof name, "m%u", file);
        assert_int_equal(open_file(fixture, file, name, IO_READABLE), IO_GOOD);
        struct io_request read = data_request(IO_READ, file, 49 * 512, back, 512);
        assert_int_equal(run(fixture, &read), IO_GOOD);
        assert_memory_equal(back, bytes + (49 * FILES + file) * 512u, 512);
        assert_int_equal(close_file(fixture, file), IO_GOOD);
    }
    free(requests);
    free(bytes);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_data),
        TEST(test_names),
        TEST(test_list_and_trees),
        TEST(test_confinement),
        TEST(test_size_limit),
        TEST(test_full_disk),
        TEST(test_errors_of_the_system),
        TEST(test_start),
        TEST(test_many),
        TEST(test_one_process_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
