/* test_sim_disk.c -- the simulated disk: what is durable, what a crash may leave, faults,
 * enumeration. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "kernel/sim/sim_disk.h"

static struct sim_disk *disk_make(uint64_t seed)
{
    struct sim_disk_options options;
    sim_disk_defaults(&options);
    options.seed = seed;
    return sim_disk_create(&options);
}

static void drain(struct sim_disk *disk)
{
    while (sim_disk_next(disk) != UINT64_MAX)
        assert_non_null(sim_disk_take(disk, sim_disk_next(disk)));
}

static struct io_request make(uint32_t op, const char *name, uint32_t flags)
{
    struct io_request request = {.op = op, .flags = flags};
    snprintf(request.name, sizeof request.name, "%s", name);
    return request;
}

static uint32_t run(struct sim_disk *disk, struct io_request *request)
{
    request->error = request->more = 0;
    request->done = 0;
    sim_disk_submit(disk, request, 0);
    drain(disk);
    return request->error;
}

static uint32_t open_file(struct sim_disk *disk, uint32_t handle, const char *name)
{
    struct io_request request = make(IO_OPEN, name, IO_READABLE | IO_WRITABLE | IO_CREATE);
    request.file = handle;
    return run(disk, &request);
}

static struct io_request data_request(uint32_t op, uint32_t handle, uint64_t offset, void *bytes,
                                      uint32_t size)
{
    struct io_request request = {.op = op, .file = handle, .offset = offset, .piece_count = 1};
    request.piece[0] = (struct io_piece){.memory = bytes, .size = size};
    return request;
}

static uint32_t write_at(struct sim_disk *disk, uint32_t handle, uint64_t offset, const void *bytes,
                         uint32_t size)
{
    struct io_request request =
        data_request(IO_WRITE, handle, offset, (void *)(uintptr_t)bytes, size);
    return run(disk, &request);
}

static uint32_t read_at(struct sim_disk *disk, uint32_t handle, uint64_t offset, void *bytes,
                        uint32_t size, uint64_t *done)
{
    struct io_request request = data_request(IO_READ, handle, offset, bytes, size);
    uint32_t error = run(disk, &request);
    *done = request.done;
    return error;
}

static uint32_t sync_file(struct sim_disk *disk, uint32_t handle)
{
    struct io_request request = {.op = IO_SYNC, .file = handle};
    return run(disk, &request);
}

static void test_write_sync_crash(void **state)
{
    (void)state;
    struct sim_disk *disk = disk_make(1);
    const uint8_t *bytes;
    uint64_t done;
    uint8_t buffer[16];
    assert_int_equal(open_file(disk, 1, "d/a"), IO_GOOD);
    assert_int_equal(write_at(disk, 1, 0, "first", 5), IO_GOOD);
    assert_int_equal(sync_file(disk, 1), IO_GOOD);
    assert_int_equal(write_at(disk, 1, 3, "SECOND", 6), IO_GOOD);
    assert_int_equal(read_at(disk, 1, 0, buffer, 16, &done), IO_GOOD);
    assert_int_equal(done, 9);
    assert_memory_equal(buffer, "firSECOND", 9);
    assert_int_equal(sim_disk_content(disk, "d/a", true, &bytes), 5);
    sim_disk_detach(disk); /* Only the process: what was written stays. */
    assert_int_equal(sim_disk_content(disk, "d/a", false, &bytes), 9);
    sim_disk_crash(disk, 1u << FATE_LOST | 1u << FATE_TORN);
    uint64_t size = sim_disk_content(disk, "d/a", false, &bytes);
    assert_true(size == 5 || size == 9);
    assert_memory_equal(bytes, size == 5 ? "first" : "firSECOND", size);
    sim_disk_destroy(disk);
}

/* After a crash each sector is as it was durable, as one of the unsynced writes left it, or garbage
 * where one was. */
#define SECTORS 8u
struct model {
    uint8_t durable[SECTORS];
    uint8_t candidate[SECTORS][64];
    uint32_t candidates[SECTORS];
};

static void check_sector(const struct model *model, uint32_t sector, const uint8_t *bytes,
                         uint32_t fates)
{
    bool uniform = true;
    for (uint32_t i = 1; i < SIM_SECTOR; i++)
        uniform &= bytes[i] == bytes[0];
    bool legal = uniform && bytes[0] == model->durable[sector];
    for (uint32_t i = 0; i < model->candidates[sector]; i++)
        legal |= uniform && bytes[0] == model->candidate[sector][i];
    legal |= (fates & 1u << FATE_GARBAGE) != 0 && model->candidates[sector] > 0;
    assert_true(legal);
}

static void random_run(uint64_t seed)
{
    static const uint32_t fate_sets[] = {1u << FATE_KEPT, 1u << FATE_LOST, FATES_ALL,
                                         1u << FATE_LOST | 1u << FATE_TORN};
    struct sim_disk *disk = disk_make(seed);
    struct rng rng;
    struct model model = {{0}, {{0}}, {0}};
    static uint8_t buffer[SECTORS * SIM_SECTOR];
    rng_seed(&rng, seed * 77 + 1);
    assert_int_equal(open_file(disk, 3, "f"), IO_GOOD);
    memset(buffer, 0, sizeof buffer);
    assert_int_equal(write_at(disk, 3, 0, buffer, sizeof buffer), IO_GOOD);
    assert_int_equal(sync_file(disk, 3), IO_GOOD);
    for (uint8_t stamp = 1; stamp < 40; stamp++) {
        uint32_t first = (uint32_t)rng_below(&rng, SECTORS);
        uint32_t count = 1 + (uint32_t)rng_below(&rng, SECTORS - first);
        memset(buffer, stamp, sizeof buffer);
        assert_int_equal(write_at(disk, 3, first * SIM_SECTOR, buffer, count * SIM_SECTOR),
                         IO_GOOD);
        for (uint32_t s = first; s < first + count; s++)
            model.candidate[s][model.candidates[s]++] = stamp;
        if (rng_chance(&rng, 1, 4)) {
            assert_int_equal(sync_file(disk, 3), IO_GOOD);
            for (uint32_t s = 0; s < SECTORS; s++) {
                if (model.candidates[s] > 0)
                    model.durable[s] = model.candidate[s][model.candidates[s] - 1];
                model.candidates[s] = 0;
            }
        }
        uint32_t fates = fate_sets[rng_below(&rng, 4)];
        struct sim_disk *copy = sim_disk_clone(disk);
        sim_disk_crash(copy, fates);
        const uint8_t *bytes;
        assert_int_equal(sim_disk_content(copy, "f", false, &bytes), sizeof buffer);
        for (uint32_t s = 0; s < SECTORS; s++)
            check_sector(&model, s, bytes + s * SIM_SECTOR, fates);
        assert_int_equal(sim_disk_unsynced(copy), 0);
        sim_disk_destroy(copy);
    }
    sim_disk_destroy(disk);
}

static void test_random_crashes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        random_run(seed);
}

static void test_enumeration(void **state)
{
    (void)state;
    struct sim_disk *disk = disk_make(2);
    assert_int_equal(open_file(disk, 1, "e"), IO_GOOD);
    uint8_t sector[SIM_SECTOR];
    for (uint8_t i = 0; i < 3; i++) {
        memset(sector, 'a' + i, sizeof sector);
        assert_int_equal(write_at(disk, 1, i * SIM_SECTOR, sector, sizeof sector), IO_GOOD);
    }
    assert_int_equal(sim_disk_unsynced(disk), 3);
    uint32_t seen = 0;
    for (uint32_t set = 0; set < 8; set++) {
        uint8_t fates[3];
        for (uint32_t i = 0; i < 3; i++)
            fates[i] = (set >> i & 1u) != 0 ? FATE_KEPT : FATE_LOST;
        struct sim_disk *copy = sim_disk_clone(disk);
        const uint8_t *bytes;
        sim_disk_crash_exact(copy, fates, 3);
        uint64_t size = sim_disk_content(copy, "e", false, &bytes);
        uint32_t got = 0;
        for (uint32_t i = 0; i < 3; i++)
            got |= size > i * SIM_SECTOR && bytes[i * SIM_SECTOR] == 'a' + i ? 1u << i : 0u;
        assert_int_equal(got, set);
        seen |= 1u << set;
        sim_disk_destroy(copy);
    }
    assert_int_equal(seen, 0xFF);
    sim_disk_destroy(disk);
}

static void test_full_and_failing(void **state)
{
    (void)state;
    struct sim_disk *disk = disk_make(3);
    uint8_t block[4096] = {1};
    const uint8_t *bytes;
    sim_disk_set_capacity(disk, 10000);
    assert_int_equal(open_file(disk, 1, "x"), IO_GOOD);
    assert_int_equal(write_at(disk, 1, 0, block, 4096), IO_GOOD);
    assert_int_equal(write_at(disk, 1, 4096, block, 4096), IO_GOOD);
    assert_int_equal(write_at(disk, 1, 8192, block, 4096), IO_FULL);
    assert_true(sim_disk_used(disk) <= 10000);
    assert_int_equal(write_at(disk, 1, 4096, block, 4096), IO_GOOD); /* Over what it has. */
    struct io_request room = {.op = IO_PREALLOCATE, .file = 1, .size = 20000};
    assert_int_equal(run(disk, &room), IO_FULL);
    sim_disk_set_capacity(disk, 0);
    assert_int_equal(run(disk, &room), IO_GOOD);
    assert_int_equal(sim_disk_content(disk, "x", false, &bytes), 20000);

    sim_disk_fail(disk, IO_WRITE, "x", IO_DEVICE, 1, 1);
    assert_int_equal(write_at(disk, 1, 0, block, 512), IO_GOOD);
    assert_int_equal(write_at(disk, 1, 0, block, 512), IO_DEVICE);
    assert_int_equal(write_at(disk, 1, 0, block, 512), IO_GOOD);
    sim_disk_fail(disk, IO_SYNC, "", IO_DEVICE, 0, 1);
    assert_int_equal(sync_file(disk, 1), IO_DEVICE);
    assert_int_equal(sim_disk_unsynced(disk),
                     0); /* The system takes them for clean: a second sync saves nothing. */
    sim_disk_destroy(disk);
}

/* Behind a sync that failed the page cache has what the disk has not. The next life sees that of
 * the disk alone, when it opens the file with a sync. */
static void test_what_only_the_cache_has(void **state)
{
    (void)state;
    uint32_t lost = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim_disk *disk = disk_make(seed);
        uint8_t old[4096] = {1}, new[4096], seen[4096];
        const uint8_t *bytes;
        uint64_t done;
        memset(new, 2, sizeof new);
        assert_int_equal(open_file(disk, 1, "x"), IO_GOOD);
        assert_int_equal(write_at(disk, 1, 0, old, 4096), IO_GOOD);
        assert_int_equal(sync_file(disk, 1), IO_GOOD);
        assert_int_equal(write_at(disk, 1, 0, new, 4096), IO_GOOD);
        sim_disk_fail(disk, IO_SYNC, "", IO_DEVICE, 0, 1);
        assert_int_equal(sync_file(disk, 1), IO_DEVICE);
        assert_int_equal(read_at(disk, 1, 0, seen, 4096, &done), IO_GOOD);
        assert_memory_equal(seen, new, 4096);
        sim_disk_detach(disk); /* The process ends; the machine goes on. */
        struct io_request open = make(IO_OPEN, "x", IO_READABLE | IO_THEN_SYNC);
        open.file = 1;
        assert_int_equal(run(disk, &open), IO_GOOD);
        assert_int_equal(read_at(disk, 1, 0, seen, 4096, &done), IO_GOOD);
        assert_int_equal(sim_disk_content(disk, "x", true, &bytes), 4096);
        assert_memory_equal(seen, bytes, 4096);
        lost += memcmp(seen, old, 4096) == 0 ? 1u : 0u;
        sim_disk_destroy(disk);
    }
    assert_in_range(lost, 1, 19);
}

static void test_overlays(void **state)
{
    (void)state;
    struct sim_disk *disk = disk_make(4);
    uint8_t good[1024];
    uint8_t read[1024];
    uint64_t done;
    memset(good, 'g', sizeof good);
    assert_int_equal(open_file(disk, 1, "a"), IO_GOOD);
    assert_int_equal(open_file(disk, 2, "b"), IO_GOOD);
    write_at(disk, 1, 0, good, sizeof good);
    write_at(disk, 2, 0, good, sizeof good);
    assert_true(sim_disk_rot(disk, "a", 700));
    assert_false(sim_disk_rot(disk, "a", 1024));
    assert_false(sim_disk_rot(disk, "none", 0));
    for (uint32_t again = 0; again < 2; again++) { /* It does not heal by reading. */
        read_at(disk, 1, 0, read, sizeof read, &done);
        uint32_t flipped = 0;
        for (uint32_t i = 0; i < sizeof read; i++)
            flipped += (uint32_t)__builtin_popcount(read[i] ^ good[i]);
        assert_int_equal(flipped, 1);
        assert_int_not_equal(read[700], good[700]);
    }
    sim_disk_overlays(disk, false);
    read_at(disk, 1, 0, read, sizeof read, &done);
    assert_memory_equal(read, good, sizeof good);
    sim_disk_overlays(disk, true);
    assert_true(sim_disk_overlaid(disk, "a"));
    write_at(disk, 1, 512, good, 512); /* A new write of the sector heals it. */
    assert_false(sim_disk_overlaid(disk, "a"));
    read_at(disk, 1, 0, read, sizeof read, &done);
    assert_memory_equal(read, good, sizeof good);

    uint8_t stray[512];
    memset(stray, 's', sizeof stray);
    assert_true(sim_disk_misdirect(disk, "a", "b", 512));
    assert_false(sim_disk_overlaid(disk, "a"));
    write_at(disk, 1, 0, stray, 512);
    assert_true(sim_disk_overlaid(disk, "a"));
    read_at(disk, 1, 0, read, sizeof read, &done);
    assert_memory_equal(read, good, sizeof good); /* Its place shows the old content. */
    read_at(disk, 2, 0, read, sizeof read, &done);
    assert_memory_equal(read, good, 512);
    assert_memory_equal(read + 512, stray, 512); /* The victim shows what was not meant for it. */
    sim_disk_calm(disk);
    read_at(disk, 1, 0, read, 512, &done);
    assert_memory_equal(read, stray, 512);
    sim_disk_destroy(disk);
}

static void test_names(void **state)
{
    (void)state;
    struct sim_disk *disk = disk_make(5);
    assert_int_equal(open_file(disk, 1, "LCP/0/T1.Data"), IO_GOOD);
    struct io_request close = {.op = IO_CLOSE, .file = 1};
    assert_int_equal(run(disk, &close), IO_GOOD);
    struct io_request missing = make(IO_OPEN, "LCP/1/x", IO_READABLE);
    assert_int_equal(run(disk, &missing), IO_MISSING);
    struct io_request through = make(IO_OPEN, "LCP/0/T1.Data/x", IO_READABLE | IO_CREATE);
    assert_int_equal(run(disk, &through), IO_BAD_PATH);
    struct io_request rename = make(IO_RENAME, "LCP/0/T1.Data", 0);
    snprintf(rename.new_name, sizeof rename.new_name, "LCP/0/T2.Data");
    assert_int_equal(run(disk, &rename), IO_GOOD);
    assert_true(sim_disk_exists(disk, "LCP/0/T2.Data"));
    assert_int_equal(run(disk, &rename), IO_MISSING);
    for (uint32_t i = 0; i < 200; i++) {
        char name[40];
        snprintf(name, sizeof name, "LCP/1/T%03u.Data", i);
        assert_int_equal(open_file(disk, 1, name), IO_GOOD);
        assert_int_equal(run(disk, &close), IO_GOOD);
    }
    static uint32_t page[IO_LIST_BYTES / 4u];
    struct io_request list = make(IO_LIST, "LCP/1", 0);
    list.piece[0] = (struct io_piece){.memory = (uint8_t *)page, .size = 2000};
    list.piece_count = 1;
    assert_int_equal(run(disk, &list), IO_GOOD);
    assert_int_equal(list.more, 1);
    struct io_request tree = make(IO_REMOVE, "LCP", IO_TREE);
    uint32_t steps = 0;
    do {
        assert_int_equal(run(disk, &tree), IO_GOOD);
        steps++;
    } while (tree.more != 0);
    assert_true(steps > 3);
    assert_false(sim_disk_exists(disk, "LCP"));
    assert_int_equal(sim_disk_used(disk), 0);
    assert_null(sim_disk_violation(disk));
    sim_disk_destroy(disk);
}

static void test_watches_the_caller(void **state)
{
    (void)state;
    struct sim_disk *disk = disk_make(6);
    uint8_t bytes[512] = {0};
    assert_int_equal(open_file(disk, 1, "a"), IO_GOOD);
    struct io_request request = data_request(IO_WRITE, 1, 0, bytes, sizeof bytes);
    sim_disk_submit(disk, &request, 0);
    bytes[5] = 1;
    drain(disk);
    assert_non_null(sim_disk_violation(disk));
    sim_disk_destroy(disk);

    disk = disk_make(7);
    assert_int_equal(open_file(disk, 1, "a"), IO_GOOD);
    struct io_request other = data_request(IO_WRITE, 1, 100, bytes, 100);
    sim_disk_submit(disk, &request, 0);
    sim_disk_submit(disk, &other, 0);
    assert_non_null(sim_disk_violation(disk));
    drain(disk);
    sim_disk_destroy(disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_sync_crash),
        cmocka_unit_test(test_random_crashes),
        cmocka_unit_test(test_enumeration),
        cmocka_unit_test(test_full_and_failing),
        cmocka_unit_test(test_what_only_the_cache_has),
        cmocka_unit_test(test_overlays),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_watches_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
