/* test_kernel.c -- queues, priorities, timers, the border guard, overflow and failure of a node
 * with toy blocks. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include "kernel/job_queue.h"
#include "kernel/thread_state.h"
#include "tests/unit/support/fake_host.h"

/* A toy block: counts what it gets, and does what the test tells it. */
struct toy_word {
    uint32_t value;
    uint32_t hops;
};
SIGNAL_STRUCT(toy_word, 2);
#define GSN_TOY_B              500
#define GSN_TOY_NODES          501
#define TOY_B_SECTIONS_MIN     0
#define TOY_B_SECTIONS_MAX     1
#define TOY_B_FROM             FROM_ANY
#define TOY_NODES_SECTIONS_MIN 0
#define TOY_NODES_SECTIONS_MAX 0
#define TOY_NODES_FROM         FROM_NODES

struct toy {
    struct block block;
    uint32_t order[4096]; /* Values in the order of execution. */
    uint32_t count;
    uint32_t section_words;
    uint32_t links_down;
    uint32_t next_ref; /* Where TOY_B with hops left goes on. */
    uint32_t fan_out;  /* Signals sent per hop. */
    bool fails;
};

static void toy_exec_TOY_B(struct block *block, const struct signal *sig)
{
    struct toy *toy = (struct toy *)block;
    const struct toy_word *word = SIG_PAYLOAD(sig, toy_word);
    jam();
    ndbrequire(!toy->fails);
    if (toy->count < 4096) toy->order[toy->count] = word->value;
    toy->count++;
    if (sig->section_count > 0) toy->section_words = sig->section[0].size;
    if (word->hops == 0) return;
    struct toy_word next = {word->value, word->hops - 1};
    for (uint32_t i = 0; i < toy->fan_out; i++)
        sig_send(block, toy->next_ref, GSN_TOY_B, PRIO_B, &next);
}

static void toy_exec_TOY_NODES(struct block *block, const struct signal *sig)
{
    toy_exec_TOY_B(block, sig);
}

static void toy_exec_CONTINUEB(struct block *block, const struct signal *sig)
{
    toy_exec_TOY_B(block, sig);
    sig_send(block, block->ref, GSN_CONTINUEB, PRIO_B, SIG_PAYLOAD(sig, toy_word));
}

static void toy_exec_LINK_DOWN_REP(struct block *block, const struct signal *sig)
{
    (void)sig;
    ((struct toy *)block)->links_down++;
}

static void toy_exec_LINK_UP_REP(struct block *block, const struct signal *sig)
{
    (void)block;
    (void)sig;
}

static const struct handler toy_handlers[] = {
    HANDLER(toy, TOY_B, toy_word),
    HANDLER(toy, TOY_NODES, toy_word),
    {GSN_LINK_DOWN_REP, 4, 0, 0, FROM_SELF, toy_exec_LINK_DOWN_REP},
    {GSN_LINK_UP_REP, 4, 0, 0, FROM_SELF, toy_exec_LINK_UP_REP},
    {GSN_CONTINUEB, 2, 0, 0, FROM_SELF, toy_exec_CONTINUEB},
};
static const struct block_type toy_type = {"TOY", BLOCK_QMGR, toy_handlers, 5, NULL};
static const struct block_type toy_type_2 = {"TOY2", BLOCK_DBLQH, toy_handlers, 5, NULL};

static const char *toy_gsn_name(uint32_t gsn)
{
    return gsn == GSN_TOY_B ? "TOY_B" : "OTHER";
}

struct world {
    struct fake_host fake;
    struct node *node;
    struct toy *first;  /* QMGR, thread 0 */
    struct toy *second; /* DBLQH 1, last thread */
};

static struct world *world_make_of(uint32_t threads, uint32_t queue_signals, uint32_t segments)
{
    struct world *world = calloc(1, sizeof *world);
    struct node_config config = {.own_node = 1};
    node_config_defaults(&config);
    config.thread_count = threads;
    config.job_queue_signals = queue_signals;
    config.delayed_max = 16;
    config.overflow_segments = segments;
    fake_host_init(&world->fake);
    struct node_options options = {.host = &world->fake.host, .gsn_name = toy_gsn_name};
    world->node = node_create(&config, &options);
    assert_non_null(world->node);
    world->first =
        (struct toy *)block_create(node_thread(world->node, 0), &toy_type, 0, sizeof(struct toy));
    world->second = (struct toy *)block_create(node_thread(world->node, threads - 1), &toy_type_2,
                                               1, sizeof(struct toy));
    world->first->next_ref = world->second->block.ref;
    world->second->next_ref = world->first->block.ref;
    world->first->fan_out = world->second->fan_out = 1;
    return world;
}

static struct world *world_make(uint32_t threads, uint32_t queue_signals)
{
    return world_make_of(threads, queue_signals, OVERFLOW_SEGMENTS_DEFAULT);
}

static void world_drop(struct world *world)
{
    node_destroy(world->node);
    free(world);
}

static void run_all(struct world *world, uint64_t now)
{
    uint32_t executed;
    do {
        executed = 0;
        for (uint32_t i = 0; i < node_config_of(world->node)->thread_count; i++)
            executed += thread_run_once(node_thread(world->node, i), now, 64).executed;
    } while (executed > 0);
}

struct signal_step {
    uint32_t gsn;
    uint32_t receiver;
    uint32_t sender;
    uint32_t value;
    uint32_t hops;
};

static uint32_t make_signal_step(uint32_t *words, const struct signal_step *step)
{
    words[0] = signal_kind(step->gsn, 2, 0, PRIO_B, 7);
    words[1] = step->receiver;
    words[2] = step->sender;
    words[3] = 6;
    words[4] = step->value;
    words[5] = step->hops;
    return 6;
}
#define make_signal(words, ...) make_signal_step((words), &(struct signal_step){__VA_ARGS__})

static void order_is_kept(void **state)
{
    (void)state;
    struct world *world = world_make(2, 0xFFFFFFFFu);
    for (uint32_t i = 0; i < 1000; i++) {
        struct toy_word word = {i, 0};
        sig_send(&world->first->block, world->second->block.ref, GSN_TOY_B, PRIO_B, &word);
    }
    run_all(world, 1);
    assert_int_equal(world->second->count, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(world->second->order[i], i);
    world_drop(world);
}

static void priority_a_goes_first(void **state)
{
    (void)state;
    struct world *world = world_make(1, 0xFFFFFFFFu);
    struct toy_word b = {1, 0};
    struct toy_word a = {2, 0};
    sig_send(&world->first->block, world->second->block.ref, GSN_TOY_B, PRIO_B, &b);
    sig_send(&world->first->block, world->second->block.ref, GSN_TOY_B, PRIO_A, &a);
    run_all(world, 1);
    assert_int_equal(world->second->order[0], 2);
    assert_int_equal(world->second->order[1], 1);
    world_drop(world);
}

static void delayed_in_due_then_insertion_order(void **state)
{
    (void)state;
    struct world *world = world_make(1, 0xFFFFFFFFu);
    struct block *from = &world->first->block;
    for (uint32_t i = 0; i < 5; i++) {
        struct toy_word word = {i, 0};
        sig_send_delayed(from, world->second->block.ref, GSN_TOY_B, PRIO_B, &word,
                         i == 0 ? 20 : 10);
    }
    run_all(world, 9);
    assert_int_equal(world->second->count, 0);
    run_all(world, 10);
    assert_int_equal(world->second->count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(world->second->order[i], i + 1);
    run_all(world, 20);
    assert_int_equal(world->second->order[4], 0);
    world_drop(world);
}

/* Work that goes on and on does not keep a round, and with it the sockets, for a whole budget; what
 * else waits has its turn in the same round. */
static void endless_work_lets_the_round_end(void **state)
{
    (void)state;
    struct world *world = world_make(2, 0xFFFFFFFFu);
    struct toy_word work = {1, 0};
    struct toy_word word = {2, 0};
    world->first->fan_out = 0;
    sig_send(&world->second->block, world->second->block.ref, GSN_CONTINUEB, PRIO_B, &work);
    for (uint32_t i = 0; i < 100; i++)
        sig_send(&world->first->block, world->second->block.ref, GSN_TOY_B, PRIO_B, &word);
    thread_run_once(node_thread(world->node, 0), 1, 512);
    uint32_t executed = thread_run_once(node_thread(world->node, 1), 1, 512).executed;
    assert_in_range(executed, 101, 104);
    assert_int_equal(world->second->count, executed);
    executed = thread_run_once(node_thread(world->node, 1), 1, 512).executed;
    assert_in_range(executed, 1, 4);
    world_drop(world);
}

static void too_many_delayed_stop_the_node(void **state)
{
    (void)state;
    struct world *world = world_make(1, 0xFFFFFFFFu);
    volatile uint32_t sent = 0;
    world->first->fan_out = 1;
    if (setjmp(world->fake.on_fail) == 0) {
        thread_run_once(node_thread(world->node, 0), 1, 1);
        struct toy_word word = {1, 0};
        /* As a handler would: the thread must be the running one for node_fail(). */
        extern _Thread_local struct thread *this_thread;
        this_thread = node_thread(world->node, 0);
        for (;; sent++)
            sig_send_delayed(&world->first->block, world->second->block.ref, GSN_TOY_B, PRIO_B,
                             &word, 5);
    }
    assert_int_equal(sent, 16);
    assert_int_equal(world->fake.failure.exit_code, EXIT_TIME_QUEUE_FULL);
    world_drop(world);
}

/* Two threads that flood each other through queues of 8 signals: nothing is lost, nothing
 * deadlocks. */
static void overflow_keeps_order_and_everything(void **state)
{
    (void)state;
    struct world *world = world_make(2, 8);
    world->first->fan_out = world->second->fan_out = 2;
    struct toy_word word = {1, 12};
    sig_send(&world->first->block, world->second->block.ref, GSN_TOY_B, PRIO_B, &word);
    run_all(world, 1);
    /* 1 + 2 + 4 + ... + 2^12 signals. */
    assert_int_equal(world->first->count + world->second->count, (1u << 13) - 1);
    for (uint32_t i = 0; i < 2; i++)
        assert_false(thread_has_work(node_thread(world->node, i)));
    world_drop(world);
}

static void large_sections_arrive(void **state)
{
    (void)state;
    struct world *world = world_make(2, 0xFFFFFFFFu);
    uint32_t *big = calloc(60000, 4);
    struct section section = {big, 60000};
    for (uint32_t i = 0; i < 20; i++) { /* More than the ring holds. */
        struct toy_word word = {i, 0};
        signal_send(&world->first->block, world->second->block.ref, GSN_TOY_B, PRIO_B, &word, 2,
                    &section, 1);
    }
    run_all(world, 1);
    assert_int_equal(world->second->count, 20);
    assert_int_equal(world->second->section_words, 60000);
    /* To another node: a large one keeps its place between small ones. */
    node_link_up(world->node, 0, 2, FROM_DATA, 5);
    struct toy_word word = {1, 0};
    uint32_t remote = block_ref(2, BLOCK_QMGR, 0);
    sig_send(&world->first->block, remote, GSN_TOY_B, PRIO_B, &word);
    signal_send(&world->first->block, remote, GSN_TOY_B, PRIO_B, &word, 2, &section, 1);
    sig_send(&world->first->block, remote, GSN_TOY_B, PRIO_B, &word);
    run_all(world, 2);
    uint32_t at = 0;
    uint32_t extents[3];
    for (uint32_t i = 0; i < 3; i++) {
        extents[i] = signal_extent_check(world->fake.sent + at, world->fake.sent_words - at);
        assert_int_not_equal(extents[i], 0);
        at += extents[i];
    }
    assert_int_equal(extents[1], 4 + 2 + 1 + 60000);
    assert_int_equal(at, world->fake.sent_words);
    free(big);
    world_drop(world);
}

static void border_guard(void **state)
{
    (void)state;
    struct world *world = world_make(1, 0xFFFFFFFFu);
    uint32_t words[16];
    uint32_t qmgr = world->first->block.ref;
    node_link_up(world->node, 0, 9, FROM_API, 3);

    uint32_t count = make_signal(words, .gsn = GSN_TOY_B, .receiver = qmgr,
                                 .sender = block_ref(9, BLOCK_API, 1), .value = 1);
    assert_true(node_deliver(world->node, 0, 9, 3, words, count));
    run_all(world, 1);
    assert_int_equal(world->first->count, 1);

    /* A forged sender. */
    make_signal(words, .gsn = GSN_TOY_B, .receiver = qmgr, .sender = block_ref(8, BLOCK_API, 1),
                .value = 1);
    assert_false(node_deliver(world->node, 0, 9, 3, words, count));
    assert_int_equal(world->fake.closed_peer, 9);
    /* The link is condemned: even a good signal is dropped until it comes back with a new epoch. */
    make_signal(words, .gsn = GSN_TOY_B, .receiver = qmgr, .sender = block_ref(9, BLOCK_API, 1),
                .value = 1);
    assert_false(node_deliver(world->node, 0, 9, 3, words, count));

    struct {
        uint32_t gsn;
        uint32_t receiver;
        uint32_t kind_words;
        const char *reason;
    } bad[] = {
        {GSN_TOY_NODES, qmgr, 2, "may not send"},
        {GSN_TOY_B, qmgr, 1, "too short"},
        {777, qmgr, 2, "does not take"},
        {40000, qmgr, 2, "does not take"},
        {GSN_TAMPER_ORD, qmgr, 2, "may not send"},
        {GSN_TOY_B, block_ref(1, BLOCK_DBTC, 0), 2, "does not have"},
        {GSN_TOY_B, block_ref(1, 99, 0), 2, "does not have"},
        {GSN_TOY_B, block_ref(1, BLOCK_DBLQH, 0), 2, "does not have"},
        {GSN_TOY_B, block_ref(3, BLOCK_QMGR, 0), 2, "does not have"},
    };
    for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        world->fake.closed_peer = 0;
        node_link_up(world->node, 0, 9, FROM_API, 10 + i);
        make_signal(words, .gsn = bad[i].gsn, .receiver = bad[i].receiver,
                    .sender = block_ref(9, BLOCK_API, 1), .value = 1);
        words[0] = signal_kind(bad[i].gsn, bad[i].kind_words, 0, PRIO_B, 0);
        words[3] = 4 + bad[i].kind_words;
        node_deliver(world->node, 0, 9, 10 + i, words, words[3]);
        run_all(world, 1);
        assert_int_equal(world->fake.closed_peer, 9);
        assert_non_null(strstr(world->fake.close_reason, bad[i].reason));
    }
    assert_int_equal(world->first->count, 1);
    world_drop(world);
}

static void old_epoch_is_dropped_and_link_down_comes_last(void **state)
{
    (void)state;
    struct world *world = world_make(3, 0xFFFFFFFFu);
    uint32_t words[8];
    node_link_up(world->node, 1, 2, FROM_DATA, 1);
    run_all(world, 1);
    uint32_t count = make_signal(words, .gsn = GSN_TOY_B, .receiver = world->second->block.ref,
                                 .sender = block_ref(2, BLOCK_QMGR, 0), .value = 1);
    assert_true(node_deliver(world->node, 1, 2, 1, words, count));
    node_link_down(world->node, 1, 2, 1);
    /* Thread 2 has the signal and the report; QMGR must not know all before thread 2 has run. */
    thread_run_once(node_thread(world->node, 1), 1, 64);
    thread_run_once(node_thread(world->node, 0), 1, 64);
    thread_run_once(node_thread(world->node, 1), 1, 64);
    thread_run_once(node_thread(world->node, 0), 1, 64);
    assert_true(world->first->links_down < 3);
    run_all(world, 1);
    assert_int_equal(world->second->count, 1); /* Delivered before the link went down: executed. */
    assert_int_equal(world->first->links_down, 3);

    node_link_up(world->node, 1, 2, FROM_DATA, 2);
    assert_true(node_deliver(world->node, 1, 2, 2, words, count));
    node_link_down(world->node, 1, 2, 2);
    node_link_up(world->node, 1, 2, FROM_DATA,
                 3); /* Back before anyone looked: words of epoch 2 are dead. */
    run_all(world, 1);
    assert_int_equal(world->second->count, 1);
    world_drop(world);
}

static void full_queues_are_a_failure_of_the_node(void **state)
{
    (void)state;
    struct world *world = world_make(2, 0xFFFFFFFFu);
    uint32_t words[8];
    node_link_up(world->node, 1, 2, FROM_DATA, 1);
    run_all(world, 1);
    uint32_t count = make_signal(words, .gsn = GSN_TOY_B, .receiver = world->first->block.ref,
                                 .sender = block_ref(2, BLOCK_QMGR, 0), .value = 1);
    if (setjmp(world->fake.on_fail) == 0) {
        for (;;)
            assert_true(node_deliver(world->node, 1, 2, 1, words, count));
    }
    assert_int_equal(world->fake.failure.exit_code, EXIT_JOB_BUFFER_FULL);
    assert_int_equal(world->fake.failure.thread_no, 1);
    /* Also when what finds no room is the word that the link is down. */
    world->fake.failure.exit_code = 0;
    this_thread = NULL;
    if (setjmp(world->fake.on_fail) == 0) node_link_down(world->node, 1, 2, 1);
    assert_int_equal(world->fake.failure.exit_code, EXIT_JOB_BUFFER_FULL);
    this_thread = NULL;
    world_drop(world);
}

static void every_queue_may_overflow(void **state)
{
    (void)state;
    struct world *world =
        world_make_of(8, 1, 1); /* A ring holds one signal; as few segments as may be. */
    uint32_t words[8];
    node_link_up(world->node, 1, 2, FROM_DATA, 1);
    run_all(world, 1);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t count = make_signal(words, .gsn = GSN_TOY_B, .receiver = world->first->block.ref,
                                     .sender = block_ref(2, BLOCK_QMGR, 0), .value = 1);
        words[0] = signal_kind(GSN_TOY_B, 2, 0, PRIO_A, 0);
        assert_true(node_deliver(world->node, 1, 2, 1, words, count));
    }
    for (uint32_t epoch = 1; epoch <= 3; epoch++) { /* A word to each thread. */
        node_link_down(world->node, 1, 2, epoch);
        node_link_up(world->node, 1, 2, FROM_DATA, epoch + 1);
    }
    run_all(world, 1);
    assert_int_equal(world->first->links_down, 3 * 8);
    world_drop(world);
}

static void put_to_string(void *context, const char *text, uint32_t size)
{
    strncat(context, text, size);
}

static void failure_leaves_a_trace(void **state)
{
    (void)state;
    struct world *world = world_make(1, 0xFFFFFFFFu);
    world->second->fails = true;
    struct toy_word word = {42, 3};
    sig_send(&world->first->block, world->second->block.ref, GSN_TOY_B, PRIO_B, &word);
    if (setjmp(world->fake.on_fail) == 0) {
        run_all(world, 1);
        fail_msg("the node should have stopped");
    }
    assert_int_equal(world->fake.failure.exit_code, EXIT_NDBREQUIRE);
    assert_string_equal(world->fake.failure_text, "!toy->fails");
    char *text = calloc(1, 1 << 20);
    thread_trace(node_thread(world->node, 0), put_to_string, text);
    assert_non_null(strstr(text, "TOY_B"));
    assert_non_null(strstr(text, "0000002a"));
    assert_non_null(strstr(text, "test_kernel.c:"));
    free(text);
    world_drop(world);
}

static void tamper_arms_and_disarms(void **state)
{
    (void)state;
    struct world *world = world_make(1, 0xFFFFFFFFu);
    struct tamper_ord ord = {5042, 7};
    sig_send(&world->first->block, world->second->block.ref, GSN_TAMPER_ORD, PRIO_B, &ord);
    run_all(world, 1);
    assert_true(ERROR_INSERTED(&world->second->block, 5042));
    assert_int_equal(world->second->block.error_extra, 7);
    ord.number = 0;
    sig_send(&world->first->block, world->second->block.ref, GSN_TAMPER_ORD, PRIO_B, &ord);
    run_all(world, 1);
    assert_false(ERROR_INSERTED(&world->second->block, 5042));
    world_drop(world);
}

/* Two OS threads, as in production: every value arrives once, in order (TSan watches the queue). */
#define RACE_SIGNALS 200000u
static void *race_consumer(void *argument)
{
    struct job_queue *queue = argument;
    uint32_t expect = 0;
    while (expect < RACE_SIGNALS) {
        const uint32_t *record = job_queue_peek(queue);
        if (record == NULL) continue;
        if (record[RECORD_HEAD_WORDS] != expect) return (void *)1;
        expect++;
        job_queue_next(queue, record);
        if (expect % 7 == 0) job_queue_done(queue);
    }
    job_queue_done(queue);
    return NULL;
}

static void queue_between_threads(void **state)
{
    (void)state;
    static struct job_queue queue; /* Aligned. */
    struct overflow_pool pool = {.segment_words = 4096};
    for (uint32_t i = 0; i < 4; i++) {
        struct overflow_segment *segment = calloc(1, sizeof *segment + 4096 * 4);
        segment->next = pool.free;
        pool.free = segment;
    }
    queue.ring = calloc(1024, 4);
    queue.size = 1024;
    queue.signals_max = 0xFFFFFFFFu;
    queue.pool = &pool;
    pthread_t consumer;
    pthread_create(&consumer, NULL, race_consumer, &queue);
    for (uint32_t i = 0; i < RACE_SIGNALS;) {
        uint32_t *room = job_queue_reserve(&queue, 1 + i % 40, 0, 0);
        if (room != NULL) room[0] = i++;
        if (i % 5 == 0 || room == NULL) job_queue_publish(&queue);
    }
    while (queue.overflow_first != NULL || queue.tail != atomic_load(&queue.published))
        job_queue_publish(&queue);
    void *result;
    pthread_join(consumer, &result);
    assert_null(result);
    assert_int_equal(pool.in_use, 0);
    while (pool.free != NULL) {
        struct overflow_segment *next = pool.free->next;
        free(pool.free);
        pool.free = next;
    }
    free(queue.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_kept),
        cmocka_unit_test(priority_a_goes_first),
        cmocka_unit_test(delayed_in_due_then_insertion_order),
        cmocka_unit_test(endless_work_lets_the_round_end),
        cmocka_unit_test(too_many_delayed_stop_the_node),
        cmocka_unit_test(overflow_keeps_order_and_everything),
        cmocka_unit_test(large_sections_arrive),
        cmocka_unit_test(border_guard),
        cmocka_unit_test(old_epoch_is_dropped_and_link_down_comes_last),
        cmocka_unit_test(full_queues_are_a_failure_of_the_node),
        cmocka_unit_test(every_queue_may_overflow),
        cmocka_unit_test(failure_leaves_a_trace),
        cmocka_unit_test(tamper_arms_and_disarms),
        cmocka_unit_test(queue_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
