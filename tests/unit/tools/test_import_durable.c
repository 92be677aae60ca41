/* test_import_durable.c -- a load whose rows the cluster does not know to be on disk, and never
 * will, ends. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/unit/support/temp_directory.h"
#include "tools/import_load.h"
#include "values/errors.h"

/* ---- What import_durable.c calls. ---- */

static uint32_t asked;
static uint64_t asked_for;
static bool refused; /* Questions are not taken. */
static ndb_durable_callback told;
static struct load *asker;
static ndb_error_t answer;

int ndb_wait_durable_async(ndb_t *ndb, uint64_t epoch, uint32_t timeout_ms,
                           ndb_durable_callback callback, void *context)
{
    (void)ndb;
    (void)timeout_ms;
    asked++;
    asked_for = epoch;
    told = callback;
    asker = context;
    return refused ? -1 : 0;
}

const ndb_error_t *ndb_error(const ndb_t *ndb)
{
    (void)ndb;
    return &answer;
}

void ndb_table_describe(const struct ndb_table *table, struct ndb_table_info *info)
{
    (void)table;
    *info = (struct ndb_table_info){0};
}

int ndb_cluster_identity(ndb_t *ndb, uint64_t *identity, uint32_t timeout_ms)
{
    (void)ndb;
    (void)timeout_ms;
    *identity = 1;
    return 0;
}

static uint32_t lives;

uint32_t ndb_connection_lives(const struct ndb_cluster_connection *connection)
{
    (void)connection;
    return lives;
}

void tool_print_error(const ndb_error_t *error)
{
    (void)error;
}

static uint64_t now_ms;

uint64_t import_now_ms(void)
{
    return now_ms;
}

void import_fail(struct load *load)
{
    load->stop = load->failed = true;
}

static int rejects_errno; /* With what the reject file has failed; 0: it has not. */

void import_rejects_failed(struct load *load)
{
    rejects_errno = errno;
    import_fail(load);
}

bool import_rejects_begin(struct load *load)
{
    (void)load;
    return true;
}

bool import_rejects_end(struct load *load)
{
    (void)load;
    return true;
}

int ndb_wait_durable(ndb_t *ndb, uint64_t epoch, uint32_t timeout_ms)
{
    (void)ndb;
    (void)epoch;
    (void)timeout_ms;
    return 0;
}

static bool repeats;

bool import_can_repeat(const struct load *load)
{
    (void)load;
    return repeats;
}

bool import_input_seek(struct import_input *input, uint64_t position)
{
    (void)input;
    (void)position;
    return true;
}

void import_series_add(struct import_series *series, double value)
{
    (void)series;
    (void)value;
}

/* ---- */

static void begin(struct load *load, struct import_settings *settings)
{
    *settings = (struct import_settings){.temporary_max = 3};
    *load = (struct load){.settings = settings, .path = "t", .stop = true, .at_end = true};
    asked = 0;
    refused = false;
    import_committed(load, 5ull << 32 | 1u << 16);
}

/* What the cluster answers to the question under way; code 0: the rows are on disk. */
static void tell(int32_t code, enum ndb_error_status status)
{
    answer = (ndb_error_t){.code = code, .status = status, .text = "", .detail = ""};
    told(code == 0 ? 0 : -1, asked_for, &answer, asker);
}

static void permanent_answer(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    begin(&load, &settings);
    assert_false(import_settle(&load));
    assert_int_equal(asked, 1);
    tell(247, NDB_STATUS_PERMANENT);
    assert_true(load.failed);
    assert_true(import_settle(&load));
    assert_int_equal(asked, 1);
}

static void question_refused(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    begin(&load, &settings);
    refused = true;
    (void)import_settle(&load);
    assert_true(load.failed);
    assert_true(import_settle(&load));
    assert_int_equal(asked, 1);
}

static void temporary_answers(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    begin(&load, &settings);
    for (uint32_t i = 0; i < 4; i++) {
        assert_false(import_settle(&load));
        assert_int_equal(asked, i + 1);
        tell(4012, NDB_STATUS_UNKNOWN);
    }
    assert_true(load.failed);
    assert_true(import_settle(&load));
    assert_int_equal(asked, 4);
}

/* A load that has failed otherwise is told of what it has done: it asks, once. */
static void failed_before(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    begin(&load, &settings);
    import_fail(&load);
    assert_false(import_settle(&load));
    assert_false(import_settle(&load)); /* It waits for the answer. */
    assert_int_equal(asked, 1);
    tell(4009, NDB_STATUS_TEMPORARY);
    assert_true(import_settle(&load));
    assert_int_equal(asked, 1);
}

/* A cluster without files that was lost has nothing of a load, though it has answered all of it. */
static void lost_without_files(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        begin(&load, &settings);
        load.commits.life = lives;
        assert_false(import_settle(&load));
        lives += i;
        tell(246, NDB_STATUS_PERMANENT);
        assert_true(import_settle(&load));
        import_end_state(&load);
        assert_int_equal(load.failed, i == 1);
        assert_int_equal(load.totals.complete, i == 0);
    }
}

/* The load has a reject file open that is gone. */
static void open_and_remove(struct load *load)
{
    temp_file_make("rows", "1\t4313\ttext\trow\n");
    load->rejects = (struct import_reject_file){.path = "rows", .file = fopen("rows", "a+")};
    assert_non_null(load->rejects.file);
    assert_int_equal(unlink("rows"), 0);
    rejects_errno = 0;
}

/* Rows that a former run has rejected, which the state counts, are in it; or it is of no matter. */
static void reject_file_is_gone(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    for (uint32_t counted = 0; counted < 2; counted++) {
        begin(&load, &settings);
        load.commits.epoch = 0;
        load.state.durable.rejected = counted;
        open_and_remove(&load);
        import_end_state(&load);
        assert_int_equal(load.failed, counted == 1);
        assert_int_equal(rejects_errno, counted == 1 ? ESTALE : 0);
        (void)fclose(load.rejects.file);
    }
}

/* Nothing is made of a reject file that is gone when rows are sent again, which has rows that are
 * not. */
static void reject_file_is_gone_going_back(void **state)
{
    static uint8_t kinds[IMPORT_WINDOW];
    struct load load;
    struct import_settings settings;
    (void)state;
    repeats = true;
    for (uint32_t begun = 0; begun < 2; begun++) {
        begin(&load, &settings);
        load.commits.lost = true;
        load.state.kinds = kinds;
        load.state.durable.mark = load.state.durable.rejected = 1;
        load.rejects_begun = begun == 1;
        open_and_remove(&load);
        import_go_back(&load);
        assert_int_equal(load.failed, begun == 1);
        assert_int_equal(rejects_errno, begun == 1 ? ESTALE : 0);
        (void)fclose(load.rejects.file);
    }
    repeats = false;
}

/* A pipe that has been silent for so long. */
static void silent(struct load *load, uint64_t ms, uint32_t questions)
{
    now_ms += ms;
    import_keep_state(load);
    assert_int_equal(asked, questions);
}

/* Rows of a pipe that are on disk by the time that the cluster is lost are not. */
static void pipe_asks_once_a_second(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    now_ms = 5000;
    begin(&load, &settings);
    load.stop = load.at_end = false;
    silent(&load, 0, 1);
    assert_int_equal(import_asks_in_ms(&load, now_ms), -1); /* It has not been answered. */
    tell(0, NDB_STATUS_SUCCESS);
    silent(&load, 60000, 1); /* Nothing is left to be asked. */
    assert_int_equal(import_asks_in_ms(&load, now_ms), -1);
    import_committed(&load, 6ull << 32 | 1u << 16); /* In the next life of the cluster. */
    assert_false(load.commits.lost);
    silent(&load, 0, 2);
    tell(0, NDB_STATUS_SUCCESS);
    import_committed(&load, 6ull << 32 | 2u << 16);
    silent(&load, 100, 2);
    assert_int_equal(import_asks_in_ms(&load, now_ms), 900);
    silent(&load, 900, 3);
}

/* Rows of two lives: those of the former one are asked for first, and their loss is a loss. */
static void life_before(void **state)
{
    const uint64_t former = 5ull << 32 | 1u << 16, newer = 6ull << 32 | 2u << 16;
    struct load load;
    struct import_settings settings;
    (void)state;
    for (uint32_t lost = 0; lost < 2; lost++) {
        begin(&load, &settings);
        assert_false(import_settle(&load)); /* This question is under way when the life ends. */
        import_committed(&load, newer);
        load.state.answered.mark = 9;
        assert_false(load.commits.lost);
        tell(4012, NDB_STATUS_UNKNOWN);
        assert_false(import_settle(&load));
        assert_int_equal(asked_for, former);
        tell(lost ? ERR_EPOCH_LOST : 0, NDB_STATUS_PERMANENT);
        assert_int_equal(load.commits.lost, lost == 1);
        assert_false(import_settle(&load));
        assert_int_equal(load.state.durable.mark, 0); /* Nothing is known of this life's rows. */
        if (lost == 1) continue;
        assert_int_equal(asked_for, newer);
        tell(0, NDB_STATUS_SUCCESS);
        assert_true(import_settle(&load));
        assert_int_equal(load.state.durable.mark, 9);
    }
}

/* Nobody knows what became of one life when a second one has gone. */
static void two_lives_before(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    begin(&load, &settings);
    import_committed(&load, 6ull << 32 | 2u << 16);
    assert_false(load.commits.lost);
    import_committed(&load, 7ull << 32 | 3u << 16);
    assert_true(load.commits.lost);
}

/* A cluster without files has nothing of the life before. */
static void life_before_without_files(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    for (uint32_t known = 0; known < 2; known++) {
        begin(&load, &settings);
        load.commits.memory = known == 1;
        import_committed(&load, 6ull << 32 | 2u << 16);
        assert_int_equal(load.commits.lost, known == 1);
        if (known == 1) continue;
        assert_false(import_settle(&load));
        tell(ERR_NO_FILES_NOT_DURABLE, NDB_STATUS_PERMANENT);
        assert_true(load.commits.lost);
    }
}

/* An outage that a silent pipe lives through ends no import. */
static void pipe_asks_again_and_again(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    begin(&load, &settings);
    load.stop = load.at_end = false;
    for (uint32_t i = 1; i <= 9; i++) {
        refused = i % 3 == 0;
        silent(&load, 1000, i);
        if (!refused) tell(4012, NDB_STATUS_UNKNOWN);
    }
    assert_false(load.failed);
    silent(&load, 1000, 10);
    tell(ERR_EPOCH_LOST, NDB_STATUS_PERMANENT);
    assert_true(load.commits.lost);
    silent(&load, 1000, 10);
}

/* A cluster without files is asked once, and again at the end: its loss meanwhile is seen then. */
static void pipe_without_files(void **state)
{
    struct load load;
    struct import_settings settings;
    (void)state;
    begin(&load, &settings);
    load.stop = load.at_end = false;
    load.commits.life = lives;
    silent(&load, 1000, 1);
    tell(ERR_NO_FILES_NOT_DURABLE, NDB_STATUS_PERMANENT);
    silent(&load, 60000, 1);
    load.stop = load.at_end = true;
    assert_false(import_settle(&load));
    assert_int_equal(asked, 2);
    lives++;
    tell(ERR_NO_FILES_NOT_DURABLE, NDB_STATUS_PERMANENT);
    assert_true(import_settle(&load));
    import_end_state(&load);
    assert_true(load.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permanent_answer),
        cmocka_unit_test(question_refused),
        cmocka_unit_test(temporary_answers),
        cmocka_unit_test(failed_before),
        cmocka_unit_test(lost_without_files),
        cmocka_unit_test(life_before),
        cmocka_unit_test(two_lives_before),
        cmocka_unit_test(life_before_without_files),
        cmocka_unit_test(pipe_asks_once_a_second),
        cmocka_unit_test(pipe_asks_again_and_again),
        cmocka_unit_test(pipe_without_files),
        cmocka_unit_test(reject_file_is_gone),
        cmocka_unit_test(reject_file_is_gone_going_back),
    };
    return cmocka_run_group_tests(tests, temp_directory_enter, temp_directory_leave);
}
