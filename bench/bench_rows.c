/* bench_rows.c -- what rows cost in one LDM: nanoseconds per insert, lookup, update, scanned row;
 * bytes per row. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench_rows [rows]: binary(16) key, binary(32) value. "warm" looks up the same few rows, "random"
 * all of them, "batch" all of them with the two prefetch stages that LQH uses for a batch of
 * operations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "blocks/dbacc/acc_state.h"
#include "blocks/dbtup/tup_state.h"
#include "kernel/base/rng.h"
#include "values/key.h"

#define BATCH 32u

struct bench {
    struct arena *arena;
    struct acc *acc;
    struct tup *tup;
    struct table_def *def;
    struct tup_frag *frag;
    struct acc_frag *index;
    uint32_t rows;
    uint64_t sum; /* Keeps results alive. */
};

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void report(const char *what, double start, double count)
{
    printf("%-34s %8.1f ns\n", what, (now_ns() - start) / count);
}

static void key_make(uint32_t number, uint32_t key[4])
{
    uint64_t state = number;
    uint64_t a = rng_splitmix(&state);
    memcpy(key, &a, 8);
    key[2] = number;
    key[3] = 0;
}

static void bench_start(struct bench *bench)
{
    struct arena_limits limits = {0};
    const struct tup_limits tup_limits = {.tables_max = 4, .frags_max = 4, .changes_max = 1u << 20};
    uint32_t ref;
    limits.pages_max[RG_DATA] = bench->rows / 256 + 64;
    limits.pages_max[RG_TRANSACTION] = 1024;
    limits.pages_max[RG_SCHEMA] = limits.pages_max[RG_NODE] = 64;
    bench->arena = arena_create(&limits);
    bench->acc = calloc(1, sizeof *bench->acc);
    bench->tup = calloc(1, sizeof *bench->tup);
    acc_init(bench->acc, bench->arena, 1u << 20, 4, 1000);
    if (!tup_init(bench->tup, bench->arena, bench->acc, &tup_limits)) abort();
    size_t size = table_def_size(8, 4096);
    bench->def = table_def_init(malloc(size), size, 8);
    const struct table_column_options key = {.name = "k",
                                             .name_size = 1,
                                             .flags = COLUMN_PRIMARY_KEY,
                                             .format = {.type = COLUMN_BINARY, .length = 16}};
    const struct table_column_options value = {
        .name = "v", .name_size = 1, .format = {.type = COLUMN_BINARY, .length = 32}};
    if (table_def_set_name(bench->def, "d", 1, "t", 1) != 0 ||
        table_def_add_column(bench->def, &key) != 0 ||
        table_def_add_column(bench->def, &value) != 0 || table_def_check(bench->def) != 0)
        abort();
    uint32_t table;
    if (tup_table_create(bench->tup, bench->def, &table) != 0) abort();
    if (tup_frag_create(bench->tup, table, 0, &ref) != 0) abort();
    bench->frag = tup_frag_get(bench->tup, ref);
    bench->index = tup_frag_index(bench->frag);
}

/* One write as LQH does it: find, lock, change, commit, unlock. */
static void write_row(struct bench *bench, uint32_t number, uint32_t generation)
{
    uint32_t key[4];
    uint32_t attr[9] = {attr_header(1, 32), number, generation};
    struct tup_changed changed;
    uint32_t lock;
    key_make(number, key);
    uint32_t hash = (uint32_t)key_hash(bench->def, key, 4);
    struct tup_change_req req = {.frag = bench->frag,
                                 .wanted = ROW_NONE,
                                 .hash = hash,
                                 .transid1 = 1,
                                 .transid2 = 2,
                                 .key = key,
                                 .key_words = 4,
                                 .attr = attr,
                                 .attr_words = 9};
    req.row = acc_find(bench->index, hash, key, 4);
    if (req.row == ROW_NONE) {
        if (tup_insert(bench->tup, &req, &changed) != 0) abort();
        lock = changed.lock;
    } else {
        const struct acc_lock_req lock_req = {.transid1 = 1, .transid2 = 2, .mode = LOCK_EXCLUSIVE};
        if (acc_lock(bench->acc, bench->index, req.row, &lock_req, &lock) != 0) abort();
        if (tup_update(bench->tup, &req, &changed) != 0) abort();
    }
    tup_commit(bench->tup, changed.change, 5);
    acc_unlock(bench->acc, lock);
}

static void read_row(struct bench *bench, const uint32_t *key, uint32_t hash)
{
    static const uint32_t attr[1] = {1u << 16};
    uint32_t out[16];
    uint32_t words;
    struct tup_read read = {.frag = bench->frag, .transid1 = 9, .attr = attr, .attr_words = 1};
    read.row = acc_find(bench->index, hash, key, 4);
    if (read.row == ROW_NONE || tup_read(bench->tup, &read, out, 16, &words) != 0) abort();
    bench->sum += out[1];
}

static void read_rows(struct bench *bench, uint32_t range, uint32_t count, uint32_t batch)
{
    struct rng rng;
    uint32_t key[BATCH][4];
    uint32_t hash[BATCH];
    rng_seed(&rng, 7);
    for (uint32_t done = 0; done < count; done += batch) {
        for (uint32_t i = 0; i < batch; i++) {
            key_make((uint32_t)rng_below(&rng, range), key[i]);
            hash[i] = (uint32_t)key_hash(bench->def, key[i], 4);
        }
        if (batch > 1) {
            for (uint32_t i = 0; i < batch; i++)
                acc_prefetch(bench->index, hash[i]);
            for (uint32_t i = 0; i < batch; i++)
                acc_prefetch_row(bench->index, hash[i]);
        }
        for (uint32_t i = 0; i < batch; i++)
            read_row(bench, key[i], hash[i]);
    }
}

static void miss_rows(struct bench *bench, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key[4];
        key_make(bench->rows + 1 + i, key);
        bench->sum += acc_find(bench->index, (uint32_t)key_hash(bench->def, key, 4), key, 4);
    }
}

static void scan_rows(struct bench *bench, bool read_too)
{
    static const uint32_t attr[1] = {ATTR_READ_ALL << 16};
    struct tup_scan_position position = {0, 0};
    for (bool end = false; !end;) {
        uint32_t rows[256];
        if (!read_too) {
            bench->sum += tup_scan_count(bench->tup, bench->frag, &position, 9, 9, 1024, &end);
            continue;
        }
        uint32_t n = tup_scan_next(bench->tup, bench->frag, &position, 9, 9, rows, 256, 1024, &end);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t out[32];
            uint32_t words;
            const struct tup_read read = {
                .frag = bench->frag, .row = rows[i], .attr = attr, .attr_words = 1};
            if (tup_read(bench->tup, &read, out, 32, &words) != 0) abort();
            bench->sum += out[1];
        }
    }
}

int main(int argc, char **argv)
{
    struct bench bench = {.rows = argc > 1 ? (uint32_t)atoi(argv[1]) : 1000000u};
    bench_start(&bench);
    double rows = (double)bench.rows;
    double start = now_ns();
    for (uint32_t i = 0; i < bench.rows; i++)
        write_row(&bench, i, 0);
    report("insert, commit", start, rows);
    double bytes = (double)arena_usage(bench.arena, RG_DATA).used * PAGE_SIZE_BYTES / rows;
    start = now_ns();
    for (uint32_t i = 0; i < bench.rows; i++)
        key_make(i, (uint32_t[4]){0});
    report("(key and loop alone)", start, rows);
    start = now_ns();
    read_rows(&bench, 1000, bench.rows, 1);
    report("hash, find, read 1 column, warm", start, rows);
    start = now_ns();
    read_rows(&bench, bench.rows, bench.rows, 1);
    report("hash, find, read 1 column, random", start, rows);
    start = now_ns();
    read_rows(&bench, bench.rows, bench.rows / BATCH * BATCH, BATCH);
    report("hash, find, read 1 column, batch", start, rows);
    start = now_ns();
    miss_rows(&bench, bench.rows);
    report("find, no such row", start, rows);
    start = now_ns();
    for (uint32_t i = 0; i < bench.rows; i++)
        write_row(&bench, (uint32_t)(i * 2654435761u) % bench.rows, 1);
    report("update, commit, random", start, rows);
    start = now_ns();
    for (uint32_t i = 0; i < bench.rows; i++)
        write_row(&bench, i % 1000u, 2);
    report("update, commit, warm", start, rows);
    start = now_ns();
    scan_rows(&bench, false);
    report("scan, count", start, rows);
    start = now_ns();
    scan_rows(&bench, true);
    report("scan, read all columns", start, rows);
    printf("%-34s %8.1f bytes (row %u, key+value 48)\n", "memory per row", bytes,
           bench.frag->table->row_size);
    printf("checksum of results %llu\n", (unsigned long long)bench.sum);
    arena_destroy(bench.arena);
    free(bench.acc);
    free(bench.tup);
    free(bench.def);
    return 0;
}
