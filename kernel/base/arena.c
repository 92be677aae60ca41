/* arena.c -- reserves a node's address space once and hands out 32 KB pages from it. */
/* SPDX-License-Identifier: MIT */
#include "kernel/base/arena.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * One spinning flag guards the free list and the counters. A page is asked for once per some
 * hundred rows, so threads hardly ever meet here, and the flag is held for a handful of
 * instructions.
 *
 * In the simulator the order in which threads take pages is part of the schedule, hence
 * deterministic; addresses are not, and nothing may depend on them.
 */
#define HUGE_PAGES_FROM ((size_t)256u << 20) /* Small arenas would be rounded up too much. */

#define TOUCH_STEP  ((size_t)2u << 20) /* A huge page. */
#define TOUCH_SHARE 16u                /* No more is ahead than this part of all. */

#define KEPT_MOST 16u
#define KEPT_SIZE ((size_t)512u << 20) /* Kept ones have multiples of it: they fit others, too. */
#define CLEAR_RUN_PAGES                                                                            \
    8u /* Longer runs are hardly touched: the system gives new pages when they are. */

struct free_page {
    struct free_page *next;
};

struct arena {
    atomic_flag lock;
    uint8_t *base;
    size_t size;
    size_t carved;  /* Bytes from `base` that have been handed out at least once. */
    size_t touched; /* Bytes from `base` that arena_touch_ahead() has come to; for its thread. */
    size_t used_before; /* Bytes from `base` that former owners of kept memory were given. */
    struct free_page *free;
    uint32_t free_count;
    uint32_t pages_total;
    uint32_t pages_used;
    bool started;
    struct resource_usage group[RG_COUNT];
    uint8_t *small[RG_COUNT]; /* Rest of the run from which arena_alloc() serves small pieces. */
    size_t small_left[RG_COUNT];
};

static void arena_lock(struct arena *arena)
{
    while (atomic_flag_test_and_set_explicit(&arena->lock, memory_order_acquire)) {
    }
}

static void arena_unlock(struct arena *arena)
{
    atomic_flag_clear_explicit(&arena->lock, memory_order_release);
}

/* Memory of destroyed arenas, for programs that make nodes by the hundred; see arena_keep(). */
static struct {
    uint32_t most;
    uint8_t fill;
    uint32_t count;
    struct arena *arena[KEPT_MOST];
} kept;

void arena_keep(uint32_t most, uint8_t fill)
{
    kept.most = most < KEPT_MOST ? most : KEPT_MOST;
    kept.fill = fill;
    while (kept.count > kept.most) {
        struct arena *arena = kept.arena[--kept.count];
        munmap(arena, arena->size);
    }
}

/* A kept one of at least `size` bytes, as if new but for what its pages contain; or NULL. */
static struct arena *kept_take(size_t size)
{
    for (uint32_t i = kept.count; i-- > 0;) {
        struct arena *arena = kept.arena[i];
        if (arena->size < size) continue;
        kept.arena[i] = kept.arena[--kept.count];
        size_t whole = arena->size;
        size_t before = arena->used_before > arena->carved ? arena->used_before : arena->carved;
        memset(arena, 0, sizeof *arena);
        arena->size = whole;
        arena->used_before = before;
        return arena;
    }
    return NULL;
}

static struct arena *memory_take(size_t size)
{
    if (kept.most > 0) size = (size + KEPT_SIZE - 1) / KEPT_SIZE * KEPT_SIZE;
    struct arena *arena = kept_take(size);
    if (arena != NULL) return arena;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    /* Records and rows are touched at random: with small pages most of that misses the TLB. Only
     * advice. Short lives in kept memory touch too little of it. */
    if (size >= HUGE_PAGES_FROM && kept.most == 0) madvise(memory, size, MADV_HUGEPAGE);
#endif
    arena = memory; /* Fresh pages of the system are zero. */
    arena->size = size;
    return arena;
}

struct arena *arena_create(const struct arena_limits *limits)
{
    uint64_t pages = 0;
    for (uint32_t g = 0; g < RG_COUNT; g++)
        pages += limits->pages_max[g];
    size_t head = (sizeof(struct arena) + 4095u) & ~(size_t)4095u;
    size_t size = head + (size_t)(pages + 1) * PAGE_SIZE_BYTES;
    struct arena *arena = memory_take(size);
    if (arena == NULL) return NULL;
    uintptr_t first =
        ((uintptr_t)arena + head + PAGE_SIZE_BYTES - 1) & ~((uintptr_t)PAGE_SIZE_BYTES - 1);
    arena->base = (uint8_t *)first;
    arena->pages_total = (uint32_t)pages;
    for (uint32_t g = 0; g < RG_COUNT; g++) {
        uint32_t reserved = limits->pages_reserved[g];
        arena->group[g].max = limits->pages_max[g];
        arena->group[g].reserved = reserved == 0 ? limits->pages_max[g] : reserved;
        arena->group[g].spare = limits->pages_spare[g];
    }
    return arena;
}

void arena_destroy(struct arena *arena)
{
    if (arena == NULL) return;
    if (kept.count < kept.most)
        kept.arena[kept.count++] = arena;
    else
        munmap(arena, arena->size);
}

/* Pages of the group that are kept for the node's next start. */
static uint64_t kept_for_start(const struct arena *arena, const struct resource_usage *usage)
{
    if (!arena->started) return 0;
    return (uint64_t)usage->spare + usage->owed[ARENA_OWED_LASTING] +
           usage->owed[ARENA_OWED_CHECKPOINT];
}

/* Counts `pages` to the group, or refuses. Called with the lock held. */
static bool group_take(struct arena *arena, enum resource_group group, uint32_t pages)
{
    struct resource_usage *usage = &arena->group[group];
    uint64_t kept_pages = kept_for_start(arena, usage);
    uint64_t wanted = (uint64_t)usage->used + pages + kept_pages;
    if (wanted > usage->max) {
        usage->failed++;
        if (kept_pages > 0 && wanted - usage->owed[ARENA_OWED_CHECKPOINT] <= usage->max)
            usage->held++;
        return false;
    }
    usage->used += pages;
    if (usage->used > usage->high) usage->high = usage->used;
    arena->pages_used += pages;
    return true;
}

static size_t carved_now(struct arena *arena)
{
    arena_lock(arena);
    size_t carved = arena->carved;
    arena_unlock(arena);
    return carved;
}

enum arena_touch arena_touch_ahead(struct arena *arena)
{
#ifdef MADV_POPULATE_WRITE
    const uint8_t *end = (const uint8_t *)arena + arena->size;
    size_t carved = carved_now(arena);
    size_t from = arena->touched > carved ? arena->touched : carved;
    size_t share = arena->size / TOUCH_SHARE;
    if (from >= carved + (share < ARENA_AHEAD ? share : ARENA_AHEAD)) return ARENA_TOUCH_ENOUGH;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint8_t *at = (uint8_t *)(((uintptr_t)arena->base + from) & ~(page - 1u));
    if (at >= end) return ARENA_TOUCH_NEVER;
    size_t left = (size_t)(end - at);
    size_t size = TOUCH_STEP - (uintptr_t)at % TOUCH_STEP;
    if (madvise(at, size < left ? size : left, MADV_POPULATE_WRITE) != 0)
        return errno == EINVAL ? ARENA_TOUCH_NEVER : ARENA_TOUCH_ENOUGH; /* No memory just now. */
    arena->touched = (size_t)(at - arena->base) + size;
    return ARENA_TOUCH_MORE;
#else
    (void)arena;
    return ARENA_TOUCH_NEVER;
#endif
}

void arena_started(struct arena *arena)
{
    arena_lock(arena);
    arena->started = true;
    arena_unlock(arena);
}

void arena_owe(struct arena *arena, enum resource_group group, enum arena_owed kind, int32_t change)
{
    arena_lock(arena);
    arena->group[group].owed[kind] += (uint32_t)change;
    arena_unlock(arena);
}

void *arena_page(struct arena *arena, enum resource_group group)
{
    void *page = NULL;
    arena_lock(arena);
    if (group_take(arena, group, 1)) {
        if (arena->free != NULL) {
            page = arena->free;
            arena->free = arena->free->next;
            arena->free_count--;
        } else {
            page = arena->base + arena->carved;
            arena->carved += PAGE_SIZE_BYTES;
            if (kept.fill != 0) memset(page, kept.fill, PAGE_SIZE_BYTES);
        }
    }
    arena_unlock(arena);
    return page;
}

void arena_page_release(struct arena *arena, enum resource_group group, void *page)
{
    struct free_page *free_page = page;
    arena_lock(arena);
    free_page->next = arena->free;
    arena->free = free_page;
    arena->free_count++;
    arena->group[group].used--;
    arena->pages_used--;
    arena_unlock(arena);
}

/* Zeroes a run that a former owner of kept memory may have written. */
static void run_clear(const struct arena *arena, void *run, size_t pages)
{
    if ((size_t)((uint8_t *)run - arena->base) >= arena->used_before) return;
    size_t size = pages * PAGE_SIZE_BYTES;
    if (pages <= CLEAR_RUN_PAGES || madvise(run, size, MADV_DONTNEED) != 0) memset(run, 0, size);
}

void *arena_alloc(struct arena *arena, enum resource_group group, size_t size)
{
    size_t rounded = (size + 63u) & ~(size_t)63u;
    void *memory = NULL;
    arena_lock(arena);
    if (rounded <= arena->small_left[group]) {
        memory = arena->small[group];
        arena->small[group] += rounded;
        arena->small_left[group] -= rounded;
        goto out;
    }
    size_t pages = (rounded + PAGE_SIZE_BYTES - 1) / PAGE_SIZE_BYTES;
    if (!group_take(arena, group, (uint32_t)pages)) goto out;
    /* A fresh run: it was never used, so the system has zeroed it, but for kept memory. The longer
     * rest serves the next small piece. */
    memory = arena->base + arena->carved;
    arena->carved += pages * PAGE_SIZE_BYTES;
    run_clear(arena, memory, pages);
    size_t rest = pages * PAGE_SIZE_BYTES - rounded;
    if (rest > arena->small_left[group]) {
        arena->small[group] = (uint8_t *)memory + rounded;
        arena->small_left[group] = rest;
    }
out:
    arena_unlock(arena);
    return memory;
}

uint32_t arena_page_no(const struct arena *arena, const void *memory)
{
    uintptr_t at = (uintptr_t)memory - (uintptr_t)arena->base;
    if ((uintptr_t)memory < (uintptr_t)arena->base || at >= arena->size) return ARENA_NOWHERE;
    return (uint32_t)(at / PAGE_SIZE_BYTES);
}

void *arena_at(struct arena *arena, uint32_t page_no, uint32_t offset, uint64_t size)
{
    uint64_t carved = carved_now(arena);
    uint64_t begin = (uint64_t)page_no * PAGE_SIZE_BYTES + offset;
    if (offset >= PAGE_SIZE_BYTES || begin > carved || size > carved - begin) return NULL;
    return arena->base + begin;
}

struct resource_usage arena_usage(const struct arena *arena, enum resource_group group)
{
    struct arena *unlocked = (struct arena *)(uintptr_t)arena;
    arena_lock(unlocked);
    struct resource_usage usage = arena->group[group];
    arena_unlock(unlocked);
    return usage;
}

const char *resource_group_name(enum resource_group group)
{
    static const char *const names[RG_COUNT] = {
        [RG_DATA] = "DATA_MEMORY",     [RG_TRANSACTION] = "TRANSACTION_MEMORY",
        [RG_JOB_BUFFER] = "JOBBUFFER", [RG_SEND_BUFFER] = "TRANSPORTER_BUFFERS",
        [RG_SCHEMA] = "SCHEMA_MEMORY", [RG_NODE] = "NODE",
    };
    return group < RG_COUNT ? names[group] : "UNKNOWN";
}
