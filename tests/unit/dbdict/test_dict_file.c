/* test_dict_file.c -- the schema files on the simulated disk: every crash point, damage, forgery,
 * many tables. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/dict_fixture.h"

static void test_tables_and_versions_come_back(void **state)
{
    (void)state;
    dw_world_make(1);
    assert_true(dw_start_alone(true));
    assert_int_equal(dw_cntr(1)->info.has_data, 0);
    for (uint32_t i = 1; i <= 3; i++)
        assert_true(dw_create(i, 3));
    uint32_t first[] = {dw_dict_at(1)->table[1].version, dw_dict_at(1)->table[2].version};
    assert_true(dw_drop(2));
    uint64_t before = dw_digest(1);
    assert_true(dw_restart_alone());
    assert_int_equal(dw_cntr(1)->info.has_data, 1);
    assert_int_equal(dw_sequence_of(1), 5); /* The empty one and four changes. */
    assert_true(dw_digest(1) == before);
    dw_assert_workers(1);
    assert_true(dw_create(4, 2));
    assert_int_equal(dw_id_of(1, 4), 2);
    assert_int_equal(dw_dict_at(1)->table[2].version,
                     first[1] + 1u); /* That version does not come again. */
    assert_true(dw_drop(4));
    assert_true(dw_drop(1));
    assert_true(dw_drop(3));
    assert_true(dw_restart_alone());
    dw_assert_workers(1);
    assert_int_equal(dw_dict_at(1)->tables, 0);
    assert_true(dw_create(5, 2));
    assert_int_equal(dw_dict_at(1)->table[1].version, first[0] + 1u);
    dw_world_drop();
}

/* The power goes after each file operation of a change; then the schema is the one before or the
 * one behind it, and behind it when the client has its answer. */
static void test_power_cut_at_every_operation(void **state)
{
    (void)state;
    uint32_t cuts = 0;
    for (uint32_t change = 0; change < 2; change++) {
        bool whole = false;
        for (uint32_t at = 1; !whole; at++) {
            for (uint32_t round = 0; round < 6 && !whole; round++) {
                dw_world_make(1);
                assert_true(dw_start_alone(true));
                assert_true(dw_create(1, 400)); /* More than one piece with the next. */
                assert_true(dw_create(2, 400));
                assert_true(dw_create(3, 400));
                uint64_t before = dw_digest(1);
                sim_power_cut_at(dw.world, 1, at);
                bool done = change == 0 ? dw_create(4, 400) : dw_drop(2);
                sim_power_cut_at(dw.world, 1, 0);
                whole = done;
                cuts += !done;
                if (done) sim_power_cut(dw.world, 1, FATES_ALL);
                assert_true(dw_restart_alone());
                bool behind = change == 0 ? dw_id_of(1, 4) != 0 : dw_id_of(1, 2) == 0;
                if (done) assert_true(behind);
                assert_true(behind != (dw_digest(1) == before));
                assert_int_equal(dw_sequence_of(1), behind ? 5 : 4);
                assert_int_not_equal(dw_id_of(1, 1), 0);
                dw_assert_workers(1);
                assert_true(dict_file_equal(dw_dict_at(1)));
                if (!behind) assert_true(change == 0 ? dw_create(4, 400) : dw_drop(2));
                uint64_t last = dw_digest(1);
                assert_true(dw_restart_alone());
                assert_true(dw_digest(1) == last);
                dw_world_drop();
            }
        }
    }
    assert_true(cuts > 2 * 6 * 8);
}

/* The same while the first, empty files are made: the cluster has not started, so nothing is there;
 * or the files are good. */
static void test_power_cut_of_the_first_write(void **state)
{
    (void)state;
    bool whole = false;
    for (uint32_t at = 1; !whole; at++) {
        for (uint32_t round = 0; round < 6; round++) {
            dw_world_make(1);
            sim_power_cut_at(dw.world, 1, at);
            whole = dw_start_alone(true);
            if (sim_alive(dw.world, 1)) sim_power_cut(dw.world, 1, FATES_ALL);
            sim_power_cut_at(dw.world, 1, 0);
            assert_true(sim_restart(dw.world, 1));
            assert_true(dw_begin(1));
            if (whole) assert_int_equal(dw_cntr(1)->info.has_data, 1);
            bool initial = dw_cntr(1)->info.has_data == 0;
            dw_send_restart(1, initial ? START_INITIAL : START_SYSTEM_RESTART, 1,
                            dw_sequence_of(1));
            assert_true(dw_online(1));
            assert_true(dw_create(1, 2));
            assert_true(dw_restart_alone());
            assert_int_not_equal(dw_id_of(1, 1), 0);
            dw_world_drop();
        }
    }
}

static uint64_t content(uint32_t copy, const uint8_t **bytes)
{
    uint64_t size = sim_disk_content(dw_disk_at(1), dw_files[copy], true, bytes);
    assert_true(size != UINT64_MAX);
    return size;
}

static void flip(uint32_t copy, uint64_t offset, uint32_t bit)
{
    const uint8_t *bytes;
    content(copy, &bytes);
    assert_true(
        sim_disk_poke(dw_disk_at(1), dw_files[copy], offset, (uint8_t)(bytes[offset] ^ 1u << bit)));
}

static void test_every_flipped_bit_is_seen(void **state)
{
    (void)state;
    struct rng rng;
    rng_seed(&rng, 4);
    dw_world_make(1);
    assert_true(dw_start_alone(true));
    for (uint32_t i = 0; i < 4; i++)
        assert_true(dw_create(i, 400));
    uint64_t good = dw_digest(1);
    for (uint32_t i = 0; i < 160; i++) {
        const uint8_t *bytes;
        uint32_t copy = i % 2;
        sim_kill(dw.world, 1);
        uint64_t size = content(copy, &bytes);
        uint64_t offset = i < 80 ? i * 4 : rng_below(&rng, size);
        flip(copy, offset, i % 8);
        assert_true(dw_restart_alone());
        assert_true(dw_digest(1) == good);
        assert_true(dict_file_equal(dw_dict_at(1))); /* It was made anew... */
        flip(1 - copy, offset, i % 8);
        assert_true(dw_restart_alone()); /* ...so the other one may be lost. */
        assert_true(dw_digest(1) == good);
    }
    uint64_t places[] = {0, 100, 5000, IMAGE_HEAD_BYTES + IMAGE_PIECE_BYTES + 999};
    const char *texts[] = {"D1/schema.1, offset 0: ", "D1/schema.1, offset 64: ",
                           "D1/schema.1, offset 4096: a piece does not have its checksum",
                           "D1/schema.1, offset 135168: a piece does not have its checksum"};
    for (uint32_t i = 0; i < 4; i++) {
        if (sim_alive(dw.world, 1)) sim_kill(dw.world, 1);
        flip(0, 70, 1);
        flip(1, places[i], 3);
        assert_false(dw_restart_alone());
        dw_assert_ended(1, EXIT_SCHEMA_DAMAGED, "D1/schema.0, offset 64: ");
        dw_assert_ended(1, EXIT_SCHEMA_DAMAGED, texts[i]);
        flip(0, 70, 1);
        flip(1, places[i], 3);
    }
    assert_true(dw_restart_alone());
    assert_true(dw_digest(1) == good);
    dw_world_drop();
}

/* One copy is damaged, and the power goes while it is made anew: the good one is not touched. */
static void test_power_cut_while_a_copy_is_mended(void **state)
{
    (void)state;
    for (uint32_t copy = 0; copy < 2; copy++) {
        bool whole = false;
        for (uint32_t at = 1; !whole; at++) {
            for (uint32_t round = 0; round < 4; round++) {
                dw_world_make(1);
                assert_true(dw_start_alone(true));
                assert_true(dw_create(1, 3));
                uint64_t good = dw_digest(1);
                sim_kill(dw.world, 1);
                flip(copy, 5000, 1);
                sim_power_cut_at(dw.world, 1, at);
                whole = dw_restart_alone();
                sim_power_cut_at(dw.world, 1, 0);
                assert_true(dw_restart_alone());
                assert_true(dw_digest(1) == good);
                dw_world_drop();
            }
        }
    }
}

/* Changes the size of a file, or removes it (size UINT64_MAX), while the node rests before phase 0.
 */
static void resize(uint32_t copy, uint64_t size)
{
    struct block *block = &dw_cntr(1)->block;
    if (size == UINT64_MAX) {
        fs_remove(block, 1, dw_files[copy], 0);
        assert_true(dw_wait_for(1, GSN_FSREMOVECONF, 1));
        return;
    }
    uint32_t before = dw_cntr(1)->answers[GSN_FSCLOSECONF];
    fs_open(block, 1, dw_files[copy], FS_READ | FS_WRITE);
    assert_true(dw_wait_for(1, GSN_FSOPENCONF, before + 1));
    fs_truncate(block, 1, dw_cntr(1)->file, size);
    fs_sync(block, 1, dw_cntr(1)->file);
    fs_close(block, 1, dw_cntr(1)->file);
    assert_true(dw_wait_for(1, GSN_FSCLOSECONF, before + 1));
}

static void test_truncated_longer_and_missing(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0,    1,      63,     64,       4095,
                                     4096, 100000, 135168, 1u << 24, UINT64_MAX};
    dw_world_make(1);
    assert_true(dw_start_alone(true));
    for (uint32_t i = 0; i < 4; i++)
        assert_true(dw_create(i, 400));
    uint64_t good = dw_digest(1);
    for (uint32_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        sim_kill(dw.world, 1);
        assert_true(sim_restart(dw.world, 1));
        assert_true(dw_wait_for(1, GSN_READ_CONFIG_CONF, 2));
        resize(i % 2, sizes[i / 2]);
        assert_true(dw_start_alone(false));
        assert_true(dw_digest(1) == good);
        assert_true(dict_file_equal(dw_dict_at(1)));
    }
    sim_kill(dw.world, 1);
    assert_true(sim_restart(dw.world, 1));
    assert_true(dw_wait_for(1, GSN_READ_CONFIG_CONF, 2));
    resize(0, 5000);
    resize(1, UINT64_MAX);
    assert_false(dw_start_alone(false));
    dw_assert_ended(1, EXIT_SCHEMA_DAMAGED, "D1/schema.0, offset 5000: it ends too early");
    dw_world_drop();
}

/* Reseals a copy after a change of one word of the stream. */
static void forge(uint32_t copy, uint32_t word, uint32_t value)
{
    const uint8_t *bytes;
    uint64_t size = content(copy, &bytes);
    uint8_t *image = malloc(size);
    memcpy(image, bytes, size);
    struct image_head *head = (struct image_head *)(void *)image;
    size = image_bytes(head); /* What is behind it means nothing. */
    uint64_t chain = head->header.sequence;
    for (uint32_t i = 0; i < head->pieces; i++) {
        uint64_t at = IMAGE_HEAD_BYTES + (uint64_t)i * IMAGE_PIECE_BYTES;
        struct image_piece *piece = (struct image_piece *)(void *)(image + at);
        uint32_t length = size - at < IMAGE_PIECE_BYTES ? (uint32_t)(size - at) : IMAGE_PIECE_BYTES;
        if (word / IMAGE_PIECE_WORDS == i) image_words(piece)[word % IMAGE_PIECE_WORDS] = value;
        piece->hash = image_piece_hash(piece, length, chain);
        chain = piece->hash;
    }
    head->chain = chain;
    uint64_t hash = XXH3_64bits(image, IMAGE_HEAD_HASH_AT);
    memcpy(image + IMAGE_HEAD_HASH_AT, &hash, 8);
    for (uint64_t i = 0; i < size; i++)
        assert_true(sim_disk_poke(dw_disk_at(1), dw_files[copy], i, image[i]));
    free(image);
}

static void test_forged_content_is_refused(void **state)
{
    (void)state;
    struct rng rng;
    uint32_t refused = 0;
    rng_seed(&rng, 9);
    for (uint32_t i = 0; i < 150; i++) {
        uint32_t word = i < 100 ? i : (uint32_t)rng_below(&rng, 3 * 60);
        uint32_t value = i % 3 == 0 ? 0 : i % 3 == 1 ? UINT32_MAX : (uint32_t)rng_next(&rng);
        dw_world_make(1);
        assert_true(dw_start_alone(true));
        for (uint32_t table = 0; table < 3; table++)
            assert_true(dw_create(table, 3));
        sim_kill(dw.world, 1);
        forge(0, word, value);
        forge(1, word, value);
        if (!dw_restart_alone()) {
            uint32_t code = sim_exit_of(dw.world, 1)->code;
            assert_true(code == EXIT_SCHEMA_DAMAGED || code == EXIT_SCHEMA_LIMIT);
            dw_assert_ended(1, code, "D1/schema.");
            refused++;
        } else {
            dw_assert_workers(1); /* Another table, but one that can be. */
        }
        dw_world_drop();
    }
    assert_true(refused > 75);
}

/* The words of a table's definition in the stream of the first copy; they begin at *at. */
static uint32_t *definition(uint32_t table_id, uint32_t *at, uint32_t *count)
{
    const uint8_t *bytes;
    content(0, &bytes);
    struct image_piece *piece = (struct image_piece *)(void *)(uintptr_t)(bytes + IMAGE_HEAD_BYTES);
    uint32_t *words = image_words(piece);
    for (*at = 0; *at < piece->words; *at += words[*at - 2] + words[*at - 1]) {
        uint32_t id = words[*at];
        *count = words[*at + 3];
        *at += IMAGE_RECORD_WORDS;
        if (id == table_id) return words + *at;
    }
    fail();
    return NULL;
}

/* Each table can be, but they do not fit each other. */
static void test_forged_indexes_are_refused(void **state)
{
    (void)state;
    for (enum misfit misfit = 0; misfit <= MISFITS; misfit++) {
        dw_world_make(1);
        assert_true(dw_start_alone(true));
        assert_true(dw_create_unique(1));
        assert_true(dw_create(4, 3));
        assert_int_equal(dw_id_of(1, 4), 4);
        sim_kill(dw.world, 1);
        uint32_t forged[512];
        uint32_t at, count;
        uint32_t *words = definition(misfit == MISFITS ? 1 : dw_misfit_id(misfit), &at, &count);
        struct table_def *def = dw_read_def(words, count);
        if (misfit != MISFITS) dw_misfit_make(misfit, def);
        assert_int_equal(table_def_encode(def, forged, 512), count);
        for (uint32_t i = 0; i < count; i++) {
            forge(0, at + i, forged[i]);
            forge(1, at + i, forged[i]);
        }
        bool started = dw_restart_alone();
        assert_int_equal(started, misfit == MISFITS); /* Nothing is changed then. */
        if (!started) dw_assert_ended(1, EXIT_SCHEMA_DAMAGED, "unique index do not fit each other");
        dw_world_drop();
    }
}

static void test_files_of_others_are_refused(void **state)
{
    (void)state;
    dw_world_make(1);
    assert_true(dw_start_alone(true));
    assert_true(dw_create(1, 3));
    sim_kill(dw.world, 1);
    const uint8_t *bytes;
    uint64_t size = content(0, &bytes);
    for (uint64_t i = 0; i < size; i++) /* One copy in place of the other: that is damage. */
        assert_true(sim_disk_poke(dw_disk_at(1), dw_files[1], i, bytes[i]));
    assert_true(dw_restart_alone());
    dw_assert_workers(1);
    sim_kill(dw.world, 1);
    assert_true(content(0, &bytes) >= size);
    struct file_header header;
    memcpy(&header, bytes, sizeof header);
    header.cluster_id++;
    file_header_seal(&header);
    for (uint64_t i = 0; i < sizeof header; i++)
        assert_true(sim_disk_poke(dw_disk_at(1), dw_files[0], i, ((const uint8_t *)&header)[i]));
    assert_false(dw_restart_alone());
    dw_assert_ended(1, EXIT_SCHEMA_FOREIGN,
                    "D1/schema.0 is refused: it belongs to another cluster");
    dw_world_drop();
}

static void test_failing_disk(void **state)
{
    (void)state;
    static const struct {
        enum io_op op;
        enum io_error error;
        const char *text;
    } cases[] = {{IO_OPEN, IO_DENIED, "opened: error 2811"},
                 {IO_WRITE, IO_FULL, "written: error 2810"},
                 {IO_PREALLOCATE, IO_DEVICE, "made longer: error 2818"},
                 {IO_WRITE, IO_DEVICE, "written: error 2818"}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t skip = 0; skip < 2; skip++) {
            dw_world_make(1);
            assert_true(dw_start_alone(true));
            assert_true(dw_create(1, 500));
            uint64_t before = dw_digest(1);
            sim_disk_fail(dw_disk_at(1), cases[i].op, "D1/schema", cases[i].error, skip, 1);
            assert_false(dw_create(2, 500));
            dw_assert_ended(1, EXIT_SCHEMA_IO, cases[i].text);
            dw_assert_ended(1, EXIT_SCHEMA_IO, "D1/schema.");
            assert_true(dw_restart_alone());
            assert_true(dw_id_of(1, 2) != 0 || dw_digest(1) == before);
            dw_assert_workers(1);
            dw_world_drop();
        }
    }
    dw_world_make(1); /* A sector that cannot be read is one damaged copy. */
    assert_true(dw_start_alone(true));
    assert_true(dw_create(1, 3));
    sim_disk_fail(dw_disk_at(1), IO_READ, "D1/schema", IO_DEVICE, 1, 1);
    assert_true(dw_restart_alone());
    assert_int_not_equal(dw_id_of(1, 1), 0);
    dw_world_drop();
}

/* A full disk refuses a create before anything has happened; what goes on has its room. */
static void test_full_disk_refuses_a_create(void **state)
{
    (void)state;
    dw_world_make(1);
    assert_true(dw_start_alone(true));
    assert_true(dw_create(1, 400));
    assert_true(dw_create(2, 400));
    uint64_t before = dw_digest(1);
    uint64_t used = sim_disk_used(dw_disk_at(1));
    uint32_t refused = 0;
    uint32_t made = 2;
    /* No room for either copy, for one of them, for both. */
    for (uint64_t room = 0; refused == 0 || refused + 2 == made || made < 4; room += 100000) {
        sim_disk_set_capacity(dw_disk_at(1), used + room);
        for (uint32_t i = 0; i < 30; i++) { /* Until no slack is left. */
            uint32_t done = dw_cntr(1)->answers[GSN_CREATE_TABLE_CONF];
            uint32_t not_done = dw_cntr(1)->answers[GSN_CREATE_TABLE_REF];
            dw_begin_create(made + 1, 400);
            while (dw_cntr(1)->answers[GSN_CREATE_TABLE_CONF] +
                       dw_cntr(1)->answers[GSN_CREATE_TABLE_REF] ==
                   done + not_done)
                dw_run_us(500);
            if (dw_cntr(1)->answers[GSN_CREATE_TABLE_CONF] > done) {
                before = dw_digest(1);
                made++;
                continue;
            }
            assert_int_equal(dw_cntr(1)->error, ERR_DISK_FULL);
            assert_true(dw_digest(1) == before);
            dw_assert_workers(1);
            refused++;
            break;
        }
    }
    assert_true(dw_drop(2)); /* Needs no room. */
    assert_true(dw_restart_alone());
    assert_int_equal(dw_dict_at(1)->tables, made - 1);
    sim_disk_set_capacity(dw_disk_at(1), 0);
    assert_true(dw_create(made + 1, 400));
    assert_true(dw_restart_alone());
    assert_int_not_equal(dw_id_of(1, made + 1), 0);
    dw_world_drop();
}

/* The disk is full from the moment on when the node has agreed: the change is written all the same.
 */
static void test_disk_full_after_prepare(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        dw_world_make(1);
        assert_true(dw_start_alone(true));
        for (uint32_t name = 1; name <= i; name++)
            assert_true(dw_create(name, 300));
        uint32_t before = dw_cntr(1)->answers[GSN_CREATE_TABLE_CONF];
        dw_begin_create(9, 300);
        while (!dw_dict_at(1)->local.active || !dw_dict_at(1)->local.has_room)
            dw_run_us(10);
        sim_disk_set_capacity(dw_disk_at(1), 1);
        assert_true(dw_wait_for(1, GSN_CREATE_TABLE_CONF, before + 1));
        assert_true(dw_restart_alone());
        assert_int_not_equal(dw_id_of(1, 9), 0);
        dw_world_drop();
    }
}

static void test_error_inserts(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t number = i % 2 == 0 ? 6003 : 6004;
        dw_world_make(1);
        assert_true(dw_start_alone(true));
        assert_true(dw_create(1, 3));
        sim_insert(dw.world, 1, BLOCK_DBDICT, number, 0);
        assert_false(i < 2 ? dw_create(2, 3) : dw_drop(1));
        dw_assert_ended(1, EXIT_ERROR_INSERT, "schema file");
        assert_true(dw_restart_alone());
        assert_int_equal(dw_id_of(1, 1) != 0, !(i >= 2 && number == 6003));
        assert_int_equal(dw_id_of(1, 2) != 0, i < 2 && number == 6003);
        dw_world_drop();
    }
}

/* Rows of a table may have been copied elsewhere by commits that are in memory only: it is in the
 * schema files until those are on disk, whether the TC has a record for the question or not. */
static void test_commits_are_durable_before_a_table_goes(void **state)
{
    (void)state;
    dw_world_make(1);
    assert_true(dw_start_alone(true));
    assert_true(dw_create(1, 8));
    assert_true(dw_create(2, 8));
    uint32_t id = dw_id_of(1, 1);
    uint64_t written = dw_dict_at(1)->file.sequence;
    struct actor *tc = dw_actor_of(dw_block_at(1, BLOCK_DBTC, 1));
    tc->hold = true;
    dw_begin_drop(1);
    dw_run_us(500000);
    assert_int_equal(tc->answers[GSN_WAIT_DURABLE_REQ], 1);
    assert_int_equal(dw_dict_at(1)->master.state, MASTER_SETTLING);
    assert_int_equal(dw_dict_at(1)->file.sequence, written);
    assert_int_equal(tc->state[id], 3); /* Nobody uses it. */
    assert_true(dw_restart_alone());
    assert_int_equal(dw_dict_at(1)->tables, 2);
    tc = dw_actor_of(dw_block_at(1, BLOCK_DBTC, 1));
    tc->full = 3;
    uint32_t done = dw_cntr(1)->answers[GSN_DROP_TABLE_CONF];
    dw_begin_drop(1);
    assert_true(dw_wait_for(1, GSN_DROP_TABLE_CONF, done + 1));
    assert_int_equal(tc->answers[GSN_WAIT_DURABLE_REQ], 4);
    assert_true(dw_restart_alone());
    assert_int_equal(dw_dict_at(1)->tables, 1);
    dw_world_drop();
}

static void test_many_and_huge_tables(void **state)
{
    (void)state;
    struct node_config config = dw_config_of(1);
    config.memory.pages_max[RG_SCHEMA] = 4000;
    dw_world_make_with(1, &config);
    assert_true(dw_start_alone(true));
    for (uint32_t id = 1; id < TABLES; id++) {
        dw_put(.node = 1, .id = id, .version = 1 + id % 5, .name = id,
               .columns = id % 20 == 0 ? 512 : 2);
        dw_dict_at(1)->table[id].state = TABLE_ONLINE;
    }
    assert_true(dw_create(TABLES, 3));
    const uint8_t *bytes;
    uint64_t size = content(0, &bytes);
    print_message("%u tables: %llu KB\n", TABLES, (unsigned long long)size / 1024u);
    assert_true(size > 8u * 1024u * 1024u);
    uint64_t before = dw_digest(1);
    assert_true(dw_restart_alone());
    assert_true(dw_digest(1) == before);
    assert_int_equal(dw_dict_at(1)->tables, TABLES);
    dw_assert_workers(1);
    dw_world_drop();
}

static void test_configuration_too_small(void **state)
{
    (void)state;
    dw_world_make(1);
    assert_true(dw_start_alone(true));
    assert_true(dw_create(1, 3));
    assert_true(dw_create(2, 3));
    sim_kill(dw.world, 1);
    assert_true(sim_restart(dw.world, 1));
    assert_true(dw_begin(1));
    dw_actor_of(dw_block_at(1, BLOCK_DBLQH, 2))->refuse = 2;
    dw_send_restart(1, START_SYSTEM_RESTART, 1, dw_sequence_of(1));
    assert_false(dw_online(1));
    dw_assert_ended(1, EXIT_SCHEMA_LIMIT, "table 2 cannot be made in DBLQH 2: error ");
    assert_true(dw_restart_alone());
    dw_world_drop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_and_versions_come_back),
        cmocka_unit_test(test_power_cut_at_every_operation),
        cmocka_unit_test(test_power_cut_of_the_first_write),
        cmocka_unit_test(test_every_flipped_bit_is_seen),
        cmocka_unit_test(test_power_cut_while_a_copy_is_mended),
        cmocka_unit_test(test_truncated_longer_and_missing),
        cmocka_unit_test(test_forged_content_is_refused),
        cmocka_unit_test(test_forged_indexes_are_refused),
        cmocka_unit_test(test_files_of_others_are_refused),
        cmocka_unit_test(test_failing_disk),
        cmocka_unit_test(test_full_disk_refuses_a_create),
        cmocka_unit_test(test_disk_full_after_prepare),
        cmocka_unit_test(test_error_inserts),
        cmocka_unit_test(test_commits_are_durable_before_a_table_goes),
        cmocka_unit_test(test_many_and_huge_tables),
        cmocka_unit_test(test_configuration_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
