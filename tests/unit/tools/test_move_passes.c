/* test_move_passes.c -- when ndb_move_data may say that nothing is left in the source. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "tools/move_passes.h"
#include "tools/tool_common.h"
#include "tools/tool_durable.h"
#include "values/errors.h"

/* What one scan meets, and what the question for its moves is answered. */
struct scan {
    uint32_t rows;
    uint32_t error; /* It ends with this one. */
    bool fatal;     /* Which is printed, and ends the move. */
    bool lost;      /* All data nodes are lost while it goes on. */
    uint32_t answer;
};

static const struct scan *script;
static uint32_t scans, questions, pauses, pauses_most, lives, printed;
static uint32_t unanswered;
static uint64_t asked_for;
static ndb_error_t answer;

/* ---- What move_passes.c and tool_durable.c call. ---- */

static enum ndb_error_status status_of(uint32_t code)
{
    return code == ERR_TC_OPERATIONS ? NDB_STATUS_TEMPORARY : NDB_STATUS_PERMANENT;
}

int ndb_wait_durable(ndb_t *ndb, uint64_t epoch, uint32_t timeout_ms)
{
    (void)ndb;
    assert_int_not_equal(timeout_ms, 0);
    assert_int_not_equal(scans, 0);
    const struct scan *scan = &script[scans - 1];
    if (scan->answer == ERR_REQUEST_TIMEOUT && ++unanswered % 60 != 0) {
        answer.code = ERR_REQUEST_TIMEOUT; /* It asks again, for a minute. */
        return -1;
    }
    questions++;
    asked_for = epoch;
    answer = (ndb_error_t){.code = (int)scan->answer, .status = status_of(scan->answer)};
    return scan->answer == 0 ? 0 : -1;
}

const ndb_error_t *ndb_error(const ndb_t *ndb)
{
    (void)ndb;
    return &answer;
}

uint32_t ndb_connection_ready_nodes(const struct ndb_cluster_connection *connection)
{
    (void)connection;
    return unanswered % 2;
}

uint32_t ndb_connection_lives(const struct ndb_cluster_connection *connection)
{
    (void)connection;
    return lives;
}

void tool_print_error(const ndb_error_t *error)
{
    assert_int_not_equal(error->code, 0);
    printed++;
}

/* ---- The scans ---- */

static int pass(struct move_passes *passes, ndb_error_t *error)
{
    const struct scan *scan = &script[scans++];

    passes->moved += scan->rows;
    if (scan->rows > 0) passes->epoch = 1000 + scans;
    lives += scan->lost;
    if (scan->fatal) return -1;
    *error = (ndb_error_t){.code = (int)scan->error, .status = NDB_STATUS_TEMPORARY};
    return scan->error == 0;
}

static bool wait_a_while(struct move_passes *passes, const ndb_error_t *error)
{
    (void)passes;
    assert_int_not_equal(error->code, 0);
    return pauses++ < pauses_most;
}

static const struct tool tool = {.name = "test_move_passes"};
static struct move_passes passes;

static bool moves(const struct scan *list)
{
    script = list;
    scans = questions = pauses = printed = 0;
    lives = 7;
    unanswered = 0;
    passes = (struct move_passes){
        .tool = &tool, .source = "source", .pass = pass, .pause = wait_a_while};
    return move_passes_run(&passes);
}

static int setup(void **state)
{
    (void)state;
    pauses_most = UINT32_MAX;
    return 0;
}

/* ---- */

static void an_empty_table_is_read_once(void **state)
{
    (void)state;
    assert_true(moves((struct scan[]){{.rows = 0}}));
    assert_int_equal(scans, 1);
    assert_int_equal(questions, 0); /* Nothing was moved: there is nothing to ask for. */
}

static void rows_are_on_disk_and_a_further_scan_meets_none(void **state)
{
    (void)state;
    assert_true(moves((struct scan[]){{.rows = 5}, {.rows = 0}}));
    assert_int_equal(scans, 2);
    assert_int_equal(questions, 1);
    assert_int_equal(asked_for, 1001);
    assert_int_equal(passes.moved, 5);
}

static void what_others_insert_is_met_by_the_next_scan(void **state)
{
    (void)state;
    assert_true(moves((struct scan[]){{.rows = 5}, {.rows = 2}, {.rows = 0}}));
    assert_int_equal(scans, 3);
    assert_int_equal(passes.moved, 7);
}

static void a_cluster_without_files_is_asked_once_for_each_scan(void **state)
{
    (void)state;
    assert_true(
        moves((struct scan[]){{.rows = 5, .answer = ERR_NO_FILES_NOT_DURABLE}, {.rows = 0}}));
    assert_int_equal(scans, 2);
    assert_int_equal(questions, 1);
    assert_int_equal(pauses, 0);
}

static void lost_moves_are_looked_for(void **state)
{
    static const uint32_t answers[] = {ERR_EPOCH_LOST, ERR_EPOCH_FORGOTTEN};
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(
            moves((struct scan[]){{.rows = 5, .answer = answers[i]}, {.rows = 5}, {.rows = 0}}));
        assert_int_equal(scans, 3);
        assert_int_equal(questions, 2); /* Not again for what is lost. */
        assert_int_equal(asked_for, 1002);
        assert_int_equal(pauses, 1);
    }
}

static void what_may_be_on_disk_later_is_asked_for_again(void **state)
{
    static const uint32_t answers[] = {ERR_REQUEST_TIMEOUT, ERR_TC_OPERATIONS};
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(
            moves((struct scan[]){{.rows = 5, .answer = answers[i]}, {.answer = answers[i]}, {0}}));
        assert_int_equal(scans, 3);
        assert_int_equal(questions, 3);
        assert_int_equal(asked_for, 1001);
        assert_int_equal(pauses, 2);
    }
}

static void another_answer_about_the_disk_ends_the_move(void **state)
{
    (void)state;
    assert_false(moves((struct scan[]){{.rows = 5, .answer = ERR_PARAMETER}}));
    assert_int_equal(scans, 1);
    assert_int_equal(printed, 1);
}

static void an_empty_scan_over_a_loss_says_nothing(void **state)
{
    (void)state;
    assert_true(moves((struct scan[]){{.rows = 0, .lost = true}, {.rows = 3}, {.rows = 0}}));
    assert_int_equal(scans, 3);
    assert_int_equal(passes.moved, 3);
    assert_true(moves((struct scan[]){{.rows = 3, .lost = true}, {.rows = 0}}));
    assert_int_equal(scans, 2);
    assert_true(moves((struct scan[]){
        {.rows = 3, .lost = true, .error = ERR_TC_OPERATIONS}, {.rows = 3}, {.rows = 0}}));
    assert_int_equal(scans, 3);
}

static void a_cut_scan_is_begun_again_as_long_as_there_are_tries(void **state)
{
    const struct scan cut[] = {
        {.rows = 3, .error = ERR_TC_OPERATIONS}, {.error = ERR_TC_OPERATIONS}, {.rows = 0}};
    (void)state;
    assert_true(moves(cut));
    assert_int_equal(scans, 3);
    assert_int_equal(questions, 1); /* What the cut scans have moved is asked for, too. */
    pauses_most = 1;
    assert_false(moves(cut));
    assert_int_equal(scans, 2);
    assert_false(moves((struct scan[]){{.rows = 3, .fatal = true}}));
    assert_int_equal(scans, 1);
}

static void others_that_insert_for_ever_end_the_move(void **state)
{
    static struct scan list[MOVE_PASSES_MAX + 1];
    (void)state;
    for (uint32_t i = 0; i <= MOVE_PASSES_MAX; i++)
        list[i].rows = 1;
    assert_false(moves(list));
    assert_int_equal(scans, MOVE_PASSES_MAX);
    list[MOVE_PASSES_MAX - 1].rows = 0; /* The last one that there is meets none. */
    assert_true(moves(list));
    assert_int_equal(scans, MOVE_PASSES_MAX);
    list[0].error = ERR_TC_OPERATIONS; /* A scan that was cut says nothing about others. */
    list[MOVE_PASSES_MAX - 1].rows = 1;
    list[MOVE_PASSES_MAX].rows = 0;
    assert_true(moves(list));
    assert_int_equal(scans, MOVE_PASSES_MAX + 1);
}

static void epochs_of_two_lives_have_no_order(void **state)
{
    const uint64_t first = (uint64_t)70 << 32 | 1u << 16 | 5;
    const uint64_t second = (uint64_t)60 << 32 | 2u << 16 | 1;
    (void)state;
    assert_true(tool_newer_epoch(0, first) == first);
    assert_true(tool_newer_epoch(first, 0) == first); /* A transaction that only read has none. */
    assert_true(tool_newer_epoch(first, first - 1) == first);
    assert_true(tool_newer_epoch(first, first + 1) == first + 1);
    assert_true(tool_newer_epoch(first, second) == second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_empty_table_is_read_once, setup),
        cmocka_unit_test_setup(rows_are_on_disk_and_a_further_scan_meets_none, setup),
        cmocka_unit_test_setup(what_others_insert_is_met_by_the_next_scan, setup),
        cmocka_unit_test_setup(a_cluster_without_files_is_asked_once_for_each_scan, setup),
        cmocka_unit_test_setup(lost_moves_are_looked_for, setup),
        cmocka_unit_test_setup(what_may_be_on_disk_later_is_asked_for_again, setup),
        cmocka_unit_test_setup(another_answer_about_the_disk_ends_the_move, setup),
        cmocka_unit_test_setup(an_empty_scan_over_a_loss_says_nothing, setup),
        cmocka_unit_test_setup(a_cut_scan_is_begun_again_as_long_as_there_are_tries, setup),
        cmocka_unit_test_setup(others_that_insert_for_ever_end_the_move, setup),
        cmocka_unit_test(epochs_of_two_lives_have_no_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
