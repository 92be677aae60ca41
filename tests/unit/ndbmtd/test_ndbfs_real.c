/* test_ndbfs_real.c -- NDBFS over the real I/O threads: answers cross from their threads into the
 * block's. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "blocks/ndbfs/fs_block.h"
#include "blocks/ndbfs/fs_client.h"
#include "ndbmtd/io_threads.h"
#include "signals/start.h"
#include "tests/unit/support/fake_host.h"

#define APPENDS 200u
#define OVER    8u /* Files that are written at the same time. */

/* Opens its files, appends to each, reads all back, closes: the next step begins when all answers
 * of one are there. */
struct asker {
    struct block block;
    uint8_t *page[OVER];
    uint32_t file[OVER];
    uint32_t step;
    uint32_t left; /* Answers that the step waits for. */
    uint32_t refused;
    uint32_t done;
};

static void ask(struct asker *asker)
{
    struct block *block = &asker->block;
    asker->step++;
    for (uint32_t i = 0; i < OVER; i++) {
        char name[20];
        struct fs_piece piece = fs_piece_of(block, asker->page[i], 4096);
        snprintf(name, sizeof name, "D%u/log", i % 3);
        snprintf(name + strlen(name), sizeof name - strlen(name), "%u", i);
        switch (asker->step) {
        case 1:
            fs_open(block, i, name, FS_READ | FS_WRITE | FS_CREATE | (i % 2 != 0 ? FS_DIRECT : 0u));
            asker->left++;
            break;
        case 2:
            for (uint32_t n = 0; n < APPENDS / OVER; n++)
                fs_append(block, i, asker->file[i], &piece, 1, n % 4 == 0 ? FS_SYNC : 0);
            fs_sync(block, i, asker->file[i]);
            asker->left += APPENDS / OVER + 1;
            break;
        case 3:
            memset(asker->page[i], 0, 4096);
            fs_read(block, i, asker->file[i], (APPENDS / OVER - 1) * 4096u, &piece, 1, 0);
            asker->left++;
            break;
        case 4:
            fs_close(block, i, asker->file[i]);
            asker->left++;
            break;
        case 5:
            if (i > 0) break;
            fs_remove(block, i, "", FS_TREE);
            asker->left++;
            break;
        default:
            asker->done = 1;
            break;
        }
    }
}

static void exec_answer(struct block *block, const struct signal *sig)
{
    struct asker *asker = (struct asker *)(void *)block;
    if (sig->section_count != 0) asker->refused++;
    if (sig->gsn == GSN_FSOPENCONF)
        asker->file[sig->payload[0]] = SIG_PAYLOAD(sig, fsopenconf)->file;
    ndbrequire(asker->left > 0);
    if (--asker->left == 0) ask(asker);
}

static void exec_config(struct block *block, const struct signal *sig)
{
    (void)sig;
    ask((struct asker *)(void *)block);
}

#define ANSWER(name)                                                                               \
    {                                                                                              \
        GSN_##name, 2, 0, 1, FROM_SELF, exec_answer                                                \
    }
static const struct handler handlers[] = {
    {GSN_READ_CONFIG_CONF, 1, 0, 0, FROM_SELF, exec_config},
    ANSWER(FSOPENCONF),
    ANSWER(FSOPENREF),
    ANSWER(FSAPPENDCONF),
    ANSWER(FSAPPENDREF),
    ANSWER(FSSYNCCONF),
    ANSWER(FSSYNCREF),
    ANSWER(FSREADCONF),
    ANSWER(FSREADREF),
    ANSWER(FSCLOSECONF),
    ANSWER(FSCLOSEREF),
    ANSWER(FSREMOVECONF),
    ANSWER(FSREMOVEREF),
};
static const struct block_type asker_type = {"ASKER", BLOCK_LCPWRITER, handlers,
                                             sizeof handlers / sizeof handlers[0], NULL};

struct rig {
    struct fake_host fake; /* First. */
    struct node *node;
    struct io_threads *io;
    pthread_mutex_t lock;
    pthread_cond_t wakeup;
    bool signalled;
};

static void rig_wake(struct host *host, uint32_t thread_no)
{
    struct rig *rig = (struct rig *)(void *)host;
    (void)thread_no;
    pthread_mutex_lock(&rig->lock);
    rig->signalled = true;
    pthread_cond_signal(&rig->wakeup);
    pthread_mutex_unlock(&rig->lock);
}

static void rig_submit(struct host *host, struct io_request *request)
{
    io_threads_submit(((struct rig *)(void *)host)->io, request);
}

static void on_done(void *context, struct io_request *request)
{
    node_io_done(((struct rig *)context)->node, request);
}

static void on_log(void *context, enum log_level level, const char *text)
{
    (void)context;
    (void)level;
    (void)text;
}

static const char *no_name(uint32_t gsn)
{
    (void)gsn;
    return "";
}

static void test_through_the_threads(void **state)
{
    (void)state;
    struct rig *rig = calloc(1, sizeof *rig);
    char directory[] = "ndbfs_real_XXXXXX";
    char why[512];
    struct node_config config = {.own_node = 1};
    fake_host_init(&rig->fake);
    rig->fake.host.wake = rig_wake;
    rig->fake.host.io_submit = rig_submit;
    pthread_mutex_init(&rig->lock, NULL);
    pthread_cond_init(&rig->wakeup, NULL);
    assert_non_null(mkdtemp(directory));
    struct io_options options = {
        .directory = directory, .files_max = 1024, .done = on_done, .log = on_log, .context = rig};
    rig->io = io_threads_create(&options, why, sizeof why);
    assert_non_null(rig->io);
    node_config_defaults(&config);
    struct node_options node_options = {.host = &rig->fake.host, .gsn_name = no_name};
    rig->node = node_create(&config, &node_options);
    struct thread *thread = node_thread(rig->node, 0);
    fs_create(thread, 0);
    struct asker *asker =
        (struct asker *)(void *)block_create(thread, &asker_type, 0, sizeof *asker);
    for (uint32_t i = 0; i < OVER; i++) {
        asker->page[i] = arena_page(node_arena(rig->node), RG_DATA);
        memset(asker->page[i], (int)i + 1, 4096);
    }
    struct read_config_req req = {.sender_data = 1};
    sig_send(&asker->block, block_ref(1, BLOCK_NDBFS, 0), GSN_READ_CONFIG_REQ, PRIO_B, &req);
    while (asker->done == 0) {
        uint32_t executed = thread_run_once(thread, 1, 16).executed;
        if (asker->step == 4) {
            for (uint32_t i = 0; i < OVER; i++)
                assert_int_equal(asker->page[i][4095], i + 1);
        }
        if (executed > 0 || thread_has_work(thread)) continue;
        pthread_mutex_lock(&rig->lock);
        while (!rig->signalled)
            pthread_cond_wait(&rig->wakeup, &rig->lock);
        rig->signalled = false;
        pthread_mutex_unlock(&rig->lock);
    }
    node_check(rig->node);
    assert_int_equal(asker->refused, 0);
    io_threads_stop(rig->io);
    assert_int_equal(rmdir(directory), 0); /* Everything was removed again. */
    node_destroy(rig->node);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_through_the_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
