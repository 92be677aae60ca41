/* test_ndbfs.c -- NDBFS on the simulated disk: order, limits, every error, crashes against a model.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "blocks/ndbfs/fs_block.h"
#include "blocks/ndbfs/fs_client.h"
#include "kernel/sim/sim_world.h"
#include "values/errors.h"
#include "signals/gsn.h"
#include "signals/start.h"

/* The block that asks: keeps each answer under its sender_data. */
#define ANSWERS 4096u
#define PAGES   64u

struct answer {
    uint32_t gsn; /* 0 = none yet. */
    uint32_t file;
    uint32_t error;
    uint32_t flags;
    uint64_t value; /* Open: size. Read, write, append: offset. List: more. */
    uint32_t bytes; /* List: entries. */
    char name[FS_NAME_BYTES + 1];
};

struct asker {
    struct block block;
    uint8_t *page[PAGES];
    uint8_t *run; /* 256 KB in one piece. */
    uint32_t answers;
    uint32_t twice;
    struct answer answer[ANSWERS];
};

static struct asker *asker_of(struct block *block)
{
    return (struct asker *)(void *)block;
}

static void exec_answer(struct block *block, const struct signal *sig)
{
    struct asker *asker = asker_of(block);
    struct answer *answer = &asker->answer[sig->payload[0] % ANSWERS];
    asker->answers++;
    asker->twice += answer->gsn != 0;
    answer->gsn = sig->gsn;
    if (sig->section_count == 1 && sig->gsn != GSN_FSLISTCONF) {
        const struct fs_ref *ref = SIG_PAYLOAD(sig, fs_ref);
        answer->file = ref->file;
        answer->error = ref->error;
        answer->flags = ref->flags;
        fs_ref_name(sig, answer->name);
    } else if (sig->gsn == GSN_FSOPENCONF) {
        const struct fsopenconf *conf = SIG_PAYLOAD(sig, fsopenconf);
        answer->file = conf->file;
        answer->value = conf->size_lo | (uint64_t)conf->size_hi << 32;
    } else if (sig->gsn == GSN_FSLISTCONF) {
        uint32_t at = 0;
        struct fs_entry entry;
        answer->value = SIG_PAYLOAD(sig, fslistconf)->more;
        while (fs_entry_next(sig, &at, &entry, answer->name))
            answer->bytes++;
        ndbrequire(answer->bytes == SIG_PAYLOAD(sig, fslistconf)->count);
    } else if (sig->words == sizeof(struct fs_io_conf) / 4u) {
        const struct fs_io_conf *conf = SIG_PAYLOAD(sig, fs_io_conf);
        answer->value = conf->offset_lo | (uint64_t)conf->offset_hi << 32;
        answer->bytes = conf->bytes;
    }
}

static void exec_config(struct block *block, const struct signal *sig)
{
    (void)block;
    (void)sig;
}

static void exec_tick(struct block *block, const struct signal *sig)
{
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, sig->payload, 1, 1);
}

#define ANSWER(name, type)                                                                         \
    {                                                                                              \
        GSN_##name, sizeof(struct type) / 4u, 0, 1, FROM_SELF, exec_answer                         \
    }
static const struct handler handlers[] = {
    {GSN_READ_CONFIG_CONF, 1, 0, 0, FROM_SELF, exec_config},
    {GSN_CONTINUEB, 1, 0, 0, FROM_SELF, exec_tick},
    ANSWER(FSOPENCONF, fsopenconf),
    ANSWER(FSOPENREF, fs_ref),
    ANSWER(FSCLOSECONF, fs_conf),
    ANSWER(FSCLOSEREF, fs_ref),
    ANSWER(FSREADCONF, fs_io_conf),
    ANSWER(FSREADREF, fs_ref),
    ANSWER(FSWRITECONF, fs_io_conf),
    ANSWER(FSWRITEREF, fs_ref),
    ANSWER(FSAPPENDCONF, fs_io_conf),
    ANSWER(FSAPPENDREF, fs_ref),
    ANSWER(FSSYNCCONF, fs_conf),
    ANSWER(FSSYNCREF, fs_ref),
    ANSWER(FSTRUNCATECONF, fs_conf),
    ANSWER(FSTRUNCATEREF, fs_ref),
    ANSWER(FSPREALLOCATECONF, fs_conf),
    ANSWER(FSPREALLOCATEREF, fs_ref),
    ANSWER(FSRENAMECONF, fs_conf),
    ANSWER(FSRENAMEREF, fs_ref),
    ANSWER(FSREMOVECONF, fs_conf),
    ANSWER(FSREMOVEREF, fs_ref),
    ANSWER(FSLISTCONF, fslistconf),
    ANSWER(FSLISTREF, fs_ref),
};
static const struct block_type asker_type = {"ASKER", BLOCK_LCPWRITER, handlers,
                                             sizeof handlers / sizeof handlers[0], NULL};

/* NDBFS in the first thread, the asker in the last one. */
static void build(struct node *node)
{
    const struct node_config *config = node_config_of(node);
    uint32_t tick = 1;
    struct read_config_req req = {.sender_data = 1};
    fs_create(node_thread(node, 0), 0);
    struct block *block = block_create(node_thread(node, config->thread_count - 1), &asker_type, 0,
                                       sizeof(struct asker));
    struct asker *asker = asker_of(block);
    for (uint32_t i = 0; i < PAGES; i++)
        asker->page[i] = arena_page(node_arena(node), RG_DATA);
    asker->run = arena_alloc(node_arena(node), RG_DATA, 262144);
    sig_send(block, block_ref(config->own_node, BLOCK_NDBFS, 0), GSN_READ_CONFIG_REQ, PRIO_B, &req);
    signal_send_delayed(block, block->ref, GSN_CONTINUEB, PRIO_B, &tick, 1, 1);
}

static bool nothing_announced(void *context, uint32_t node, const struct node_failure *failure)
{
    (void)context;
    (void)node;
    (void)failure;
    return false;
}

struct rig {
    struct sim_world *world;
    struct sim_disk *disk;
    uint32_t next; /* sender_data */
};

static struct rig rig_make(uint64_t seed, uint32_t threads, uint32_t queue_max)
{
    struct sim_options options;
    struct node_config config;
    memset(&config, 0, sizeof config);
    sim_options_defaults(&options);
    options.seed = seed;
    options.gsn_name = gsn_name;
    options.announced = nothing_announced;
    struct rig rig = {.world = sim_create(&options), .next = 1};
    node_config_defaults(&config);
    config.thread_count = threads;
    config.overflow_segments = 4;
    config.own_node = 1;
    config.node[1].type = NODE_DATA;
    config.file_queue_max = queue_max;
    config.open_files_max = 4;
    config.file_requests_max = 40;
    struct sim_data_options data = {.config = &config, .build = build};
    sim_add_data(rig.world, &data);
    rig.disk = sim_disk_of(rig.world, 1);
    return rig;
}

static void rig_drop(struct rig *rig)
{
    assert_string_equal(sim_failure_text(rig->world), "");
    sim_destroy(rig->world);
}

static struct asker *asker(struct rig *rig)
{
    return asker_of(node_block(sim_node(rig->world, 1), BLOCK_LCPWRITER, 0));
}

static void run_us(struct rig *rig, uint64_t us)
{
    sim_run_until(rig->world, NULL, NULL, sim_now_us(rig->world) + us);
    if (sim_alive(rig->world, 1)) sim_check_nodes(rig->world);
    assert_string_equal(sim_failure_text(rig->world), "");
}

static const struct answer *wait_for(struct rig *rig, uint32_t sender_data)
{
    const struct answer *answer = &asker(rig)->answer[sender_data];
    for (uint32_t i = 0; i < 2000 && answer->gsn == 0; i++)
        run_us(rig, 500);
    assert_int_not_equal(answer->gsn, 0);
    assert_int_equal(asker(rig)->twice, 0);
    return answer;
}

static const struct answer *open_wait(struct rig *rig, const char *name, uint32_t flags)
{
    fs_open(&asker(rig)->block, rig->next, name, flags);
    return wait_for(rig, rig->next++);
}

static uint32_t open_good(struct rig *rig, const char *name, uint32_t flags)
{
    const struct answer *answer = open_wait(rig, name, flags);
    assert_int_equal(answer->gsn, GSN_FSOPENCONF);
    return answer->file;
}

struct data_step {
    uint32_t file;
    uint64_t offset;
    uint8_t *memory;
    uint32_t bytes;
    uint32_t flags;
};

static uint32_t give_write_step(struct rig *rig, const struct data_step *step)
{
    struct fs_piece piece = fs_piece_of(&asker(rig)->block, step->memory, step->bytes);
    fs_write(&asker(rig)->block, rig->next, step->file, step->offset, &piece, 1, step->flags);
    return rig->next++;
}
#define give_write(rig, ...) give_write_step((rig), &(struct data_step){__VA_ARGS__})

static uint32_t give_read_step(struct rig *rig, const struct data_step *step)
{
    struct fs_piece piece = fs_piece_of(&asker(rig)->block, step->memory, step->bytes);
    fs_read(&asker(rig)->block, rig->next, step->file, step->offset, &piece, 1, step->flags);
    return rig->next++;
}
#define give_read(rig, ...) give_read_step((rig), &(struct data_step){__VA_ARGS__})

static uint32_t give_append(struct rig *rig, uint32_t file, uint8_t *memory, uint32_t bytes,
                            uint32_t flags)
{
    struct fs_piece piece = fs_piece_of(&asker(rig)->block, memory, bytes);
    fs_append(&asker(rig)->block, rig->next, file, &piece, 1, flags);
    return rig->next++;
}

static uint32_t give_sync(struct rig *rig, uint32_t file)
{
    fs_sync(&asker(rig)->block, rig->next, file);
    return rig->next++;
}

static uint32_t give_close(struct rig *rig, uint32_t file)
{
    fs_close(&asker(rig)->block, rig->next, file);
    return rig->next++;
}

struct expected {
    uint32_t sender_data;
    uint32_t gsn;
    uint32_t error;
    uint32_t flags;
};

static void expect_answer(struct rig *rig, const struct expected *step)
{
    const struct answer *answer = wait_for(rig, step->sender_data);
    assert_int_equal(answer->gsn, step->gsn);
    assert_int_equal(answer->error, step->error);
    assert_int_equal(answer->flags, step->flags);
}
#define expect(rig, ...) expect_answer((rig), &(struct expected){__VA_ARGS__})

#define FRESH (FS_READ | FS_WRITE | FS_CREATE)

static void test_life_of_a_file(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct rig rig = rig_make(threads, threads, 64);
        run_us(&rig, 2000);
        struct asker *me = asker(&rig);
        uint32_t file = open_good(&rig, "D1/log.1", FRESH);
        memset(me->page[0], 'a', 32768);
        memset(me->page[1], 'b', 32768);
        struct fs_piece pieces[2] = {fs_piece_of(&me->block, me->page[0] + 1000, 500),
                                     fs_piece_of(&me->block, me->page[1], 100)};
        fs_append(&me->block, rig.next, file, pieces, 2, FS_SYNC);
        const struct answer *answer = wait_for(&rig, rig.next++);
        assert_int_equal(answer->gsn, GSN_FSAPPENDCONF);
        assert_int_equal(answer->bytes, 600);
        assert_int_equal(answer->value, 0);
        answer = wait_for(&rig, give_append(&rig, file, me->page[1], 50, 0));
        assert_int_equal(answer->value, 600);
        expect(&rig,
               .sender_data = give_read(&rig, .file = file, .offset = 490, .memory = me->page[2],
                                        .bytes = 160),
               .gsn = GSN_FSREADCONF);
        assert_int_equal(me->page[2][9], 'a');
        assert_int_equal(me->page[2][10], 'b');
        expect(&rig,
               .sender_data =
                   give_read(&rig, .file = file, .offset = 600, .memory = me->page[2], .bytes = 51),
               .gsn = GSN_FSREADREF, .error = ERR_FILE_SHORT_READ);
        answer = wait_for(&rig, give_read(&rig, .file = file, .offset = 600, .memory = me->page[2],
                                          .bytes = 51, .flags = FS_PARTIAL));
        assert_int_equal(answer->bytes, 50);
        fs_preallocate(&me->block, rig.next, file, 40u << 20, FS_ZERO); /* In three steps. */
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSPREALLOCATECONF);
        answer = wait_for(&rig, give_append(&rig, file, me->run, 262144, 0));
        assert_int_equal(answer->value, 40u << 20);
        fs_truncate(&me->block, rig.next, file, 100);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSTRUNCATECONF);
        expect(&rig, .sender_data = give_sync(&rig, file), .gsn = GSN_FSSYNCCONF);
        assert_int_equal(sim_disk_unsynced(rig.disk), 0);
        expect(&rig, .sender_data = give_close(&rig, file), .gsn = GSN_FSCLOSECONF);
        expect(&rig, .sender_data = give_sync(&rig, file), .gsn = GSN_FSSYNCREF,
               .error = ERR_FILE_PARAMETER); /* A stale reference. */
        fs_rename(&me->block, rig.next, "D1/log.1", "D1/log.2", 0);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSRENAMECONF);
        answer = open_wait(&rig, "D1/log.1", FS_READ);
        assert_int_equal(answer->error, ERR_FILE_MISSING);
        assert_string_equal(answer->name, "D1/log.1");
        answer = open_wait(&rig, "D1/log.2", FS_READ);
        assert_int_equal(answer->value, 100);
        expect(&rig, .sender_data = give_close(&rig, answer->file), .gsn = GSN_FSCLOSECONF);
        fs_list(&me->block, rig.next, "D1", NULL);
        assert_int_equal(wait_for(&rig, rig.next)->bytes, 1);
        assert_string_equal(me->answer[rig.next++].name, "log.2");
        fs_remove(&me->block, rig.next, "", FS_TREE);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSREMOVECONF);
        assert_false(sim_disk_exists(rig.disk, "D1"));
        rig_drop(&rig);
    }
}

static void test_wrong_requests(void **state)
{
    (void)state;
    struct rig rig = rig_make(5, 2, 64);
    run_us(&rig, 2000);
    struct asker *me = asker(&rig);
    static const char *const bad[] = {"",
                                      "/a",
                                      "a/",
                                      "a//b",
                                      "..",
                                      "a/../b",
                                      ".a",
                                      "a/.b",
                                      "a b",
                                      "a\n",
                                      "a/b/c/d/e/f/g/h/i/j",
                                      "\xC3\xA4"};
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(open_wait(&rig, bad[i], FRESH)->error, ERR_FILE_PATH);
        fs_remove(&me->block, rig.next, bad[i], 0);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSREMOVEREF, .error = ERR_FILE_PATH);
    }
    assert_int_equal(open_wait(&rig, "a", FS_READ | FS_CREATE)->error, ERR_FILE_PARAMETER);
    assert_int_equal(open_wait(&rig, "a", FS_WRITE | FS_EXCLUSIVE)->error, ERR_FILE_PARAMETER);
    assert_int_equal(open_wait(&rig, "a", 0)->error, ERR_FILE_PARAMETER);
    assert_int_equal(open_wait(&rig, "a", FRESH | 1u << 30)->error, ERR_FILE_PARAMETER);
    fs_rename(&me->block, rig.next, "a", "a/b", 0);
    expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSRENAMEREF, .error = ERR_FILE_PATH);

    uint32_t file = open_good(&rig, "a", FRESH | FS_DIRECT);
    assert_int_equal(open_wait(&rig, "a", FS_READ)->error, ERR_FILE_ALREADY_OPEN);
    fs_remove(&me->block, rig.next, "a", 0);
    expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSREMOVEREF, .error = ERR_FILE_ALREADY_OPEN);
    expect(&rig,
           .sender_data =
               give_write(&rig, .file = file, .offset = 512, .memory = me->page[0], .bytes = 4096),
           .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    expect(&rig,
           .sender_data = give_write(&rig, .file = file, .memory = me->page[0] + 8, .bytes = 4096),
           .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    expect(&rig,
           .sender_data = give_write(&rig, .file = file, .memory = me->page[0], .bytes = 4000),
           .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    expect(&rig,
           .sender_data = give_write(&rig, .file = file, .memory = me->page[0], .bytes = 4096,
                                     .flags = FS_PARTIAL),
           .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    expect(&rig,
           .sender_data = give_write(&rig, .file = file + 1, .memory = me->page[0], .bytes = 4096),
           .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    struct fs_piece outside = {.page = 0x00FFFFFF, .offset = 0, .bytes = 4096};
    fs_write(&me->block, rig.next, file, 0, &outside, 1, 0);
    expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    outside = (struct fs_piece){.page = 0, .offset = 0, .bytes = 0xFFFFF000u};
    fs_write(&me->block, rig.next, file, 0, &outside, 1, 0);
    expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    fs_truncate(&me->block, rig.next, file, 100);
    expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSTRUNCATEREF, .error = ERR_FILE_PARAMETER);
    expect(&rig,
           .sender_data =
               give_write(&rig, .file = file, .offset = 8192, .memory = me->page[0], .bytes = 4096),
           .gsn = GSN_FSWRITECONF);
    uint32_t reader = open_good(&rig, "b", FRESH);
    expect(&rig, .sender_data = give_close(&rig, reader), .gsn = GSN_FSCLOSECONF);
    reader = open_good(&rig, "b", FS_READ);
    expect(&rig,
           .sender_data = give_write(&rig, .file = reader, .memory = me->page[0], .bytes = 10),
           .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    assert_int_equal(open_wait(&rig, "b/c", FRESH)->error, ERR_FILE_ALREADY_OPEN);
    open_good(&rig, "c", FRESH);
    open_good(&rig, "d", FRESH);
    assert_int_equal(open_wait(&rig, "e", FRESH)->error, ERR_FILE_MAX_OPEN);
    rig_drop(&rig);
}

/* The n-th record of each pool is refused: that request gets an error, the others go on, nothing is
 * left. */
static void test_no_records(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {ERR_FILE_MAX_OPEN, ERR_FILE_RESOURCES};
    struct rig rig = rig_make(9, 1, 16);
    run_us(&rig, 2000);
    struct asker *me = asker(&rig);
    struct block *fs = node_block(sim_node(rig.world, 1), BLOCK_NDBFS, 0);
    for (uint32_t number = 0; number < 2; number++) {
        for (uint32_t n = 1; n <= 6; n++) {
            uint32_t refused = 0;
            block_tamper(fs, 9997, number << 16 | n);
            for (uint32_t i = 0; i < 2; i++) { /* Six requests, two files. */
                const struct answer *opened = open_wait(&rig, i == 0 ? "one" : "two", FRESH);
                refused += opened->error == numbers[number];
                if (opened->error != 0) continue;
                uint32_t write =
                    give_write(&rig, .file = opened->file, .memory = me->page[0], .bytes = 100);
                refused += wait_for(&rig, write)->error == numbers[number];
                uint32_t close = give_close(&rig, opened->file);
                if (wait_for(&rig, close)->error == 0) continue;
                refused++;
                expect(&rig, .sender_data = give_close(&rig, opened->file), .gsn = GSN_FSCLOSECONF);
            }
            assert_int_equal(refused, number == 0 ? n <= 2 : 1);
            block_tamper(fs, 0, 0);
            assert_int_equal(block_pool_at(fs, 0)->in_use + block_pool_at(fs, 1)->in_use, 0);
        }
    }
    rig_drop(&rig);
}

/* The disk holds still: queues fill, and the answers are the defined ones; then all comes in order.
 */
static void test_limits_and_close(void **state)
{
    (void)state;
    struct rig rig = rig_make(6, 1, 16);
    run_us(&rig, 2000);
    struct asker *me = asker(&rig);
    uint32_t file = open_good(&rig, "q", FRESH);
    uint32_t other = open_good(&rig, "r", FRESH);
    sim_disk_stall(rig.disk, sim_now_us(rig.world) + 50000);
    uint32_t first = rig.next;
    for (uint32_t i = 0; i < 20; i++)
        give_append(&rig, file, me->page[i], 100 + i, 0);
    for (uint32_t i = 0; i < 20; i++)
        give_write(&rig, .file = other, .offset = i * 100, .memory = me->page[20 + i],
                   .bytes = 100);
    uint32_t names = rig.next;
    for (uint32_t i = 0; i < 10; i++)
        fs_open(&me->block, rig.next++, "z", FS_READ); /* 32 of 40 records are taken, 8 are left. */
    run_us(&rig, 5000);
    for (uint32_t i = 16; i < 20; i++) {
        assert_int_equal(me->answer[first + i].error, ERR_FILE_RESOURCES);
        assert_int_equal(me->answer[first + 20 + i].error, ERR_FILE_RESOURCES);
    }
    assert_int_equal(me->answer[names + 7].gsn, 0);
    assert_int_equal(me->answer[names + 8].error, ERR_FILE_RESOURCES);
    assert_int_equal(me->answer[names + 9].error, ERR_FILE_RESOURCES);
    run_us(&rig, 100000);
    uint64_t place = 0;
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(me->answer[first + i].gsn, GSN_FSAPPENDCONF);
        assert_int_equal(me->answer[first + i].value, place);
        place += 100 + i;
        assert_int_equal(me->answer[first + 20 + i].gsn, GSN_FSWRITECONF);
    }
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(me->answer[names + i].error, ERR_FILE_MISSING);

    /* Close with requests outstanding: all of them are carried out first; what comes behind is
     * refused. */
    sim_disk_stall(rig.disk, sim_now_us(rig.world) + 20000);
    first = rig.next;
    for (uint32_t i = 0; i < 10; i++)
        give_write(&rig, .file = file, .offset = i * 50, .memory = me->page[i],
                   .bytes = 100); /* Each overlaps with the one before. */
    uint32_t closing = give_close(&rig, file);
    uint32_t behind = give_write(&rig, .file = file, .memory = me->page[20], .bytes = 100);
    expect(&rig, .sender_data = behind, .gsn = GSN_FSWRITEREF, .error = ERR_FILE_PARAMETER);
    assert_int_equal(me->answer[closing].gsn, 0);
    expect(&rig, .sender_data = closing, .gsn = GSN_FSCLOSECONF);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(me->answer[first + i].gsn, GSN_FSWRITECONF);
    rig_drop(&rig);
}

static void test_full_disk(void **state)
{
    (void)state;
    struct rig rig = rig_make(7, 1, 64);
    run_us(&rig, 2000);
    struct asker *me = asker(&rig);
    uint32_t file = open_good(&rig, "LCP/0/x", FRESH);
    sim_disk_set_capacity(rig.disk, 10000);
    uint32_t first = rig.next;
    give_append(&rig, file, me->page[0], 8000, 0);
    give_append(&rig, file, me->page[1], 8000, 0); /* Full. */
    give_append(&rig, file, me->page[2], 100, 0);  /* Would fit, but leaves a hole. */
    give_sync(&rig, file);
    give_read(&rig, .file = file, .memory = me->page[3], .bytes = 8000);
    expect(&rig, .sender_data = first, .gsn = GSN_FSAPPENDCONF);
    expect(&rig, .sender_data = first + 1, .gsn = GSN_FSAPPENDREF, .error = ERR_DISK_FULL);
    assert_string_equal(me->answer[first + 1].name, "LCP/0/x");
    expect(&rig, .sender_data = first + 2, .gsn = GSN_FSAPPENDREF, .error = ERR_DISK_FULL,
           .flags = FS_REF_BEHIND);
    expect(&rig, .sender_data = first + 3, .gsn = GSN_FSSYNCREF, .error = ERR_DISK_FULL,
           .flags = FS_REF_BEHIND);
    expect(&rig, .sender_data = first + 4, .gsn = GSN_FSREADCONF);
    sim_disk_set_capacity(rig.disk, 100000); /* There is room again: nobody has to do anything. */
    expect(&rig, .sender_data = give_append(&rig, file, me->page[1], 8000, FS_SYNC),
           .gsn = GSN_FSAPPENDCONF);
    assert_int_equal(me->answer[rig.next - 1].value, 8000);
    fs_preallocate(&me->block, rig.next, file, 200000, 0);
    expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSPREALLOCATEREF, .error = ERR_DISK_FULL);
    rig_drop(&rig);
}

/* A failed sync is never made good by a second one. */
static void test_broken_file(void **state)
{
    (void)state;
    for (uint32_t how = 0; how < 3; how++) {
        struct rig rig = rig_make(8 + how, 1 + how % 2, 64);
        run_us(&rig, 2000);
        struct asker *me = asker(&rig);
        uint32_t file = open_good(&rig, "s", FRESH);
        uint32_t first = rig.next;
        sim_disk_fail(rig.disk, how == 2 ? IO_WRITE : IO_SYNC, "s", how == 1 ? IO_FULL : IO_DEVICE,
                      0, 1);
        uint32_t error = how == 1 ? (uint32_t)ERR_DISK_FULL : (uint32_t)ERR_FILE_IO_FAILED;
        if (how == 0) {
            expect(&rig,
                   .sender_data =
                       give_write(&rig, .file = file, .memory = me->page[0], .bytes = 1000),
                   .gsn = GSN_FSWRITECONF);
            first = give_sync(&rig, file);
            expect(&rig, .sender_data = first, .gsn = GSN_FSSYNCREF, .error = error,
                   .flags = FS_REF_BROKEN);
        } else {
            first = give_write(&rig, .file = file, .memory = me->page[0], .bytes = 1000,
                               .flags = FS_SYNC);
            uint32_t behind = give_sync(&rig, file);
            expect(&rig, .sender_data = first, .gsn = GSN_FSWRITEREF, .error = error,
                   .flags = FS_REF_BROKEN);
            expect(&rig, .sender_data = behind, .gsn = GSN_FSSYNCREF, .error = error,
                   .flags = FS_REF_BROKEN | FS_REF_BEHIND);
        }
        expect(&rig, .sender_data = give_sync(&rig, file), .gsn = GSN_FSSYNCREF, .error = error,
               .flags = FS_REF_BROKEN);
        expect(&rig,
               .sender_data = give_write(&rig, .file = file, .memory = me->page[0], .bytes = 1000),
               .gsn = GSN_FSWRITEREF, .error = error, .flags = FS_REF_BROKEN);
        expect(&rig,
               .sender_data = give_read(&rig, .file = file, .memory = me->page[1], .bytes = 10),
               .gsn = GSN_FSREADREF, .error = error, .flags = FS_REF_BROKEN);
        expect(&rig, .sender_data = give_close(&rig, file), .gsn = GSN_FSCLOSECONF);
        /* Neither by opening it anew, nor under another name; only by beginning anew. */
        assert_int_equal(open_wait(&rig, "s", FS_READ)->flags, FS_REF_BROKEN);
        fs_rename(&me->block, rig.next, "s", "t", 0);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSRENAMEREF, .error = ERR_FILE_IO_FAILED,
               .flags = FS_REF_BROKEN);
        file = open_good(&rig, "s", FRESH | FS_EMPTY);
        expect(&rig,
               .sender_data = give_write(&rig, .file = file, .memory = me->page[0], .bytes = 1000,
                                         .flags = FS_SYNC),
               .gsn = GSN_FSWRITECONF);
        expect(&rig, .sender_data = give_close(&rig, file), .gsn = GSN_FSCLOSECONF);
        assert_int_equal(open_wait(&rig, "s", FS_READ)->gsn, GSN_FSOPENCONF);
        rig_drop(&rig);
    }
}

static void test_each_error(void **state)
{
    (void)state;
    static const struct {
        enum io_error io;
        uint32_t error;
    } map[] = {{IO_FULL, ERR_DISK_FULL},           {IO_QUOTA, ERR_DISK_FULL},
               {IO_TOO_LARGE, ERR_DISK_FULL},      {IO_DEVICE, ERR_FILE_IO_FAILED},
               {IO_READ_ONLY, ERR_FILE_READ_ONLY}, {IO_DENIED, ERR_FILE_PERMISSION},
               {IO_MISSING, ERR_FILE_MISSING},     {IO_EXISTS, ERR_FILE_EXISTS},
               {IO_BAD_PATH, ERR_FILE_PATH},       {IO_NO_RESOURCES, ERR_FILE_RESOURCES},
               {IO_OTHER, ERR_FILE_UNKNOWN}};
    struct rig rig = rig_make(20, 2, 64);
    run_us(&rig, 2000);
    struct asker *me = asker(&rig);
    for (uint32_t i = 0; i < sizeof map / sizeof map[0]; i++) {
        sim_disk_fail(rig.disk, IO_OPEN, "", map[i].io, 0, 1);
        assert_int_equal(open_wait(&rig, "a", FRESH)->error, map[i].error);
        sim_disk_fail(rig.disk, IO_RENAME, "a", map[i].io, 0, 1);
        fs_rename(&me->block, rig.next, "a", "b", 0);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSRENAMEREF, .error = map[i].error);
        sim_disk_fail(rig.disk, IO_REMOVE, "a", map[i].io, 0, 1);
        fs_remove(&me->block, rig.next, "a", FS_TREE);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSREMOVEREF, .error = map[i].error);
        sim_disk_fail(rig.disk, IO_LIST, "", map[i].io, 0, 1);
        fs_list(&me->block, rig.next, "", NULL);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSLISTREF, .error = map[i].error);
        uint32_t file = open_good(&rig, "f", FRESH | FS_EMPTY);
        sim_disk_fail(rig.disk, IO_READ, "f", map[i].io, 0, 1);
        expect(&rig,
               .sender_data = give_read(&rig, .file = file, .memory = me->page[0], .bytes = 10,
                                        .flags = FS_PARTIAL),
               .gsn = GSN_FSREADREF, .error = map[i].error);
        expect(&rig,
               .sender_data = give_read(&rig, .file = file, .memory = me->page[0], .bytes = 10,
                                        .flags = FS_PARTIAL),
               .gsn = GSN_FSREADCONF);
        sim_disk_fail(rig.disk, IO_TRUNCATE, "f", map[i].io, 0, 1);
        fs_truncate(&me->block, rig.next, file, 10);
        expect(&rig, .sender_data = rig.next++, .gsn = GSN_FSTRUNCATEREF, .error = map[i].error,
               .flags = map[i].io == IO_DEVICE ? FS_REF_BROKEN : 0);
        sim_disk_fail(rig.disk, IO_CLOSE, "f", map[i].io, 0, 1);
        expect(&rig, .sender_data = give_close(&rig, file), .gsn = GSN_FSCLOSEREF,
               .error = map[i].error, .flags = FS_REF_BROKEN);
    }
    rig_drop(&rig);
}

/* --- Names and a tree larger than a step; names that overlap are served in order, others are not
 * held up. --- */

static void test_name_order(void **state)
{
    (void)state;
    struct rig rig = rig_make(30, 1, 64);
    run_us(&rig, 2000);
    struct asker *me = asker(&rig);
    for (uint32_t i = 0; i < 150; i++) {
        char name[40];
        snprintf(name, sizeof name, "BIG/%u/a-rather-long-name-%03u", i % 4, i);
        expect(&rig, .sender_data = give_close(&rig, open_good(&rig, name, FRESH)),
               .gsn = GSN_FSCLOSECONF);
    }
    uint32_t first = rig.next;
    fs_remove(&me->block, rig.next++, "BIG", FS_TREE);
    fs_open(&me->block, rig.next++, "BIG/0/new", FRESH); /* Behind the removal. */
    fs_rename(&me->block, rig.next++, "BIG/1/a-rather-long-name-001", "other", 0);
    fs_list(&me->block, rig.next++, "BIG", NULL);
    run_us(&rig, 100000);
    assert_int_equal(me->answer[first].gsn, GSN_FSREMOVECONF);
    assert_int_equal(me->answer[first + 1].gsn, GSN_FSOPENCONF);
    assert_int_equal(me->answer[first + 2].error, ERR_FILE_MISSING);
    assert_int_equal(me->answer[first + 3].bytes, 1);
    assert_true(sim_disk_exists(rig.disk, "BIG/0/new"));
    rig_drop(&rig);
}

/* --- Random work with power cuts: each sector is what the rules of files.md allow. --- */

#define SECTORS   32u
#define FILE_SIZE (SECTORS * SIM_SECTOR)

struct write_note {
    uint32_t sender_data;
    uint32_t first;
    uint32_t count;
    uint8_t stamp;
    bool durable; /* A sync given later has been confirmed. */
    bool syncs;   /* Itself a sync, too. */
};

static bool legal(const struct write_note *notes, uint32_t count, const uint8_t *sector, uint32_t s)
{
    bool uniform = true;
    for (uint32_t i = 1; i < SIM_SECTOR; i++)
        uniform &= sector[i] == sector[0];
    /* From the newest back: each that is not durable may have left anything; the newest durable one
     * is the floor. */
    for (uint32_t i = count; i > 0; i--) {
        const struct write_note *note = &notes[i - 1];
        if (s < note->first || s >= note->first + note->count) continue;
        if (!note->durable) return true; /* Kept, lost, torn or garbage. */
        return uniform && sector[0] == note->stamp;
    }
    return uniform && sector[0] == 0;
}

static void mark_durable(struct rig *rig, struct write_note *notes, uint32_t count)
{
    const struct asker *me = asker(rig);
    uint32_t upto = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t gsn = me->answer[notes[i].sender_data].gsn;
        if (notes[i].syncs && (gsn == GSN_FSWRITECONF || gsn == GSN_FSSYNCCONF)) upto = i + 1;
    }
    for (uint32_t i = 0; i < upto; i++)
        notes[i].durable = true;
}

static void crash_round(struct rig *rig, struct rng *rng)
{
    static struct write_note notes[40];
    uint32_t count = 0;
    struct asker *me = asker(rig);
    uint32_t file = open_good(rig, "model", FRESH | FS_EMPTY);
    fs_preallocate(&me->block, rig->next, file, FILE_SIZE, FS_ZERO);
    expect(rig, .sender_data = rig->next++, .gsn = GSN_FSPREALLOCATECONF);
    expect(rig, .sender_data = give_sync(rig, file), .gsn = GSN_FSSYNCCONF);
    bool at_operation = rng_chance(rng, 1, 2);
    if (at_operation) sim_power_cut_at(rig->world, 1, 1 + rng_below(rng, 30));
    while (count < 40 && sim_alive(rig->world, 1)) {
        struct write_note *note = &notes[count++];
        *note = (struct write_note){.stamp = (uint8_t)count, .sender_data = rig->next};
        if (rng_chance(rng, 1, 6)) {
            note->syncs = true;
            give_sync(rig, file);
        } else {
            note->first = (uint32_t)rng_below(rng, SECTORS);
            note->count = 1 + (uint32_t)rng_below(rng, SECTORS - note->first);
            note->syncs = rng_chance(rng, 1, 8);
            uint8_t *page = me->page[count];
            memset(page, note->stamp, note->count * SIM_SECTOR);
            give_write(rig, .file = file, .offset = note->first * SIM_SECTOR, .memory = page,
                       .bytes = note->count * SIM_SECTOR, .flags = note->syncs ? FS_SYNC : 0);
        }
        if (rng_chance(rng, 1, 3)) run_us(rig, rng_below(rng, 1000));
        if (sim_alive(rig->world, 1)) mark_durable(rig, notes, count);
    }
    if (sim_alive(rig->world, 1)) {
        run_us(rig, rng_below(rng, 3000));
        if (sim_alive(rig->world, 1)) mark_durable(rig, notes, count);
        sim_power_cut(rig->world, 1, FATES_ALL);
    }
    const uint8_t *bytes;
    assert_int_equal(sim_disk_content(rig->disk, "model", false, &bytes), FILE_SIZE);
    for (uint32_t s = 0; s < SECTORS; s++)
        assert_true(legal(notes, count, bytes + s * SIM_SECTOR, s));
    sim_power_cut_at(rig->world, 1, 0);
    assert_true(sim_restart(rig->world, 1));
    rig->next = 1;
    run_us(rig, 2000);
    /* What the disk shows is what the next life reads. */
    file = open_good(rig, "model", FS_READ);
    expect(rig,
           .sender_data =
               give_read(rig, .file = file, .memory = asker(rig)->page[0], .bytes = FILE_SIZE),
           .gsn = GSN_FSREADCONF);
    assert_memory_equal(asker(rig)->page[0], bytes, FILE_SIZE);
    expect(rig, .sender_data = give_close(rig, file), .gsn = GSN_FSCLOSECONF);
}

static void test_power_cuts(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct rig rig = rig_make(seed, 1 + (uint32_t)seed % 2, 64);
        struct rng rng;
        rng_seed(&rng, seed);
        run_us(&rig, 2000);
        for (uint32_t round = 0; round < 6; round++)
            crash_round(&rig, &rng);
        rig_drop(&rig);
    }
}

/* The cut after every single operation of a short script; each time the new file is there whole, or
 * the old one is. */
static void test_every_operation(void **state)
{
    (void)state;
    uint32_t news = 0;
    uint32_t olds = 0;
    for (uint64_t cut = 1; cut <= 9; cut++) {
        struct rig rig = rig_make(40 + cut, 1, 64);
        run_us(&rig, 2000);
        struct asker *me = asker(&rig);
        memset(me->page[0], 'o', 1000);
        memset(me->page[1], 'n', 1000);
        uint32_t file = open_good(&rig, "S/sys", FRESH);
        expect(&rig,
               .sender_data = give_write(&rig, .file = file, .memory = me->page[0], .bytes = 1000,
                                         .flags = FS_SYNC),
               .gsn = GSN_FSWRITECONF);
        expect(&rig, .sender_data = give_close(&rig, file), .gsn = GSN_FSCLOSECONF);
        sim_power_cut_at(rig.world, 1, cut);
        uint32_t renamed = 0;
        for (uint32_t step = 0; step < 5 && sim_alive(rig.world, 1); step++) {
            uint32_t asked = rig.next++;
            if (step == 0) fs_open(&me->block, asked, "S/sys.new", FRESH | FS_EMPTY);
            if (step == 1) {
                struct fs_piece piece = fs_piece_of(&me->block, me->page[1], 1000);
                fs_write(&me->block, asked, me->answer[asked - 1].file, 0, &piece, 1, 0);
            }
            if (step == 2) fs_sync(&me->block, asked, me->answer[asked - 2].file);
            if (step == 3) fs_close(&me->block, asked, me->answer[asked - 3].file);
            if (step == 4) fs_rename(&me->block, asked, "S/sys.new", "S/sys", FS_REPLACE);
            for (uint32_t i = 0; i < 200 && sim_alive(rig.world, 1) && me->answer[asked].gsn == 0;
                 i++)
                run_us(&rig, 500);
            if (step == 4 && sim_alive(rig.world, 1)) renamed = 1;
        }
        if (sim_alive(rig.world, 1)) sim_power_cut(rig.world, 1, FATES_ALL);
        const uint8_t *bytes;
        assert_int_equal(sim_disk_content(rig.disk, "S/sys", true, &bytes), 1000);
        for (uint32_t i = 1; i < 1000; i++)
            assert_int_equal(bytes[i], bytes[0]);
        assert_true(bytes[0] == 'n' || (bytes[0] == 'o' && renamed == 0));
        news += bytes[0] == 'n';
        olds += bytes[0] == 'o';
        rig_drop(&rig);
    }
    assert_true(news > 0 && olds > 0);
}

/* A process that is killed loses nothing that was confirmed, synced or not. */
static void test_kill_keeps(void **state)
{
    (void)state;
    struct rig rig = rig_make(60, 1, 64);
    run_us(&rig, 2000);
    struct asker *me = asker(&rig);
    uint32_t file = open_good(&rig, "k", FRESH);
    memset(me->page[0], 'k', 5000);
    expect(&rig,
           .sender_data = give_write(&rig, .file = file, .memory = me->page[0], .bytes = 5000),
           .gsn = GSN_FSWRITECONF);
    for (uint32_t i = 1; i < 10; i++)
        give_append(&rig, file, me->page[i], 3000, 0);
    run_us(&rig, 100);
    sim_kill(rig.world, 1);
    const uint8_t *bytes;
    assert_true(sim_disk_content(rig.disk, "k", false, &bytes) >= 5000);
    assert_memory_equal(bytes, "kkkk", 4);
    assert_true(sim_restart(rig.world, 1));
    rig.next = 1;
    run_us(&rig, 2000);
    assert_true(open_wait(&rig, "k", FS_READ)->value >= 5000);
    rig_drop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life_of_a_file),   cmocka_unit_test(test_wrong_requests),
        cmocka_unit_test(test_limits_and_close), cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_broken_file),      cmocka_unit_test(test_each_error),
        cmocka_unit_test(test_name_order),       cmocka_unit_test(test_power_cuts),
        cmocka_unit_test(test_every_operation),  cmocka_unit_test(test_kill_keeps),
        cmocka_unit_test(test_no_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
