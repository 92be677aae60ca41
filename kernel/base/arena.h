/* arena.h -- all memory of one node: 32 KB pages handed out to resource groups with limits. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_SIZE_BYTES 32768u
#define PAGE_WORDS      (PAGE_SIZE_BYTES / 4u)

/* Who uses memory. Shown as ndbinfo.resources does; names in resource_group_name(). */
enum resource_group {
    RG_DATA = 0,    /* Rows and hash indexes: DataMemory. */
    RG_TRANSACTION, /* Operation, transaction, lock, scan records, row copies: TransactionMemory. */
    RG_JOB_BUFFER,  /* Signals between threads, delayed signals. */
    RG_SEND_BUFFER, /* Bytes waiting for a link. */
    RG_SCHEMA,      /* Dictionary and distribution. */
    RG_NODE,        /* Blocks, threads, tables of the kernel itself. */
    RG_COUNT
};

/*
 * What a restart needs beyond what is in use. Whoever knows that it may come back larger than it is
 * says so, and the pages are kept from others until the node starts again.
 */
enum arena_owed {
    ARENA_OWED_LASTING,    /* Packed less tightly when it is made anew. */
    ARENA_OWED_CHECKPOINT, /* Given back, but the last checkpoint still has what was there. */
    ARENA_OWED_KINDS
};

struct resource_usage {
    uint32_t used;                   /* Pages in use. */
    uint32_t max;                    /* Pages at most. */
    uint32_t reserved;               /* Pages that other groups leave to this one. */
    uint32_t high;                   /* Most pages ever used. */
    uint32_t failed;                 /* Requests that were refused. */
    uint32_t spare;                  /* Pages of `max` that only a node that starts may use. */
    uint32_t owed[ARENA_OWED_KINDS]; /* Pages that the next start needs besides those in use. */
    uint32_t held; /* Requests refused for the sake of what a checkpoint will give back. */
};

struct arena;

struct arena_limits {
    uint32_t pages_max[RG_COUNT];
    uint32_t pages_reserved[RG_COUNT]; /* 0 = same as max: the group never has to share. */
    /* Pages of pages_max that are held back once the node has started. */
    uint32_t pages_spare[RG_COUNT];
};

/*
 * Creates an arena, of a node that starts, whose groups may use as much as `limits` says. Address
 * space is reserved at once, memory is touched when a page is first handed out. Returns NULL when
 * the system refuses the address space.
 */
struct arena *arena_create(const struct arena_limits *limits);

/* Gives everything back to the system. No pointer into the arena is valid afterwards. */
void arena_destroy(struct arena *arena);

/*
 * From now on arena_destroy() keeps the memory of up to `most` arenas (16 at most) for later ones,
 * because getting and clearing fresh memory takes longer than a short life of a node. 0 = none, as
 * at the start. `fill` other than 0: pages are filled with this byte before they are first handed
 * out. For the simulator; not thread-safe, and nobody else may be creating or destroying arenas.
 */
void arena_keep(uint32_t most, uint8_t fill);

/*
 * Makes the system provide memory that has not been handed out yet, so that who takes a page next
 * does not wait until it is found and cleared: the first ARENA_AHEAD bytes, at most a sixteenth of
 * all, as far as they are not provided already, one step of them. Hands nothing out and changes no
 * content. For one thread, which may wait in here for milliseconds, beside any others.
 * ARENA_TOUCH_NEVER: the system cannot, or all there is has been provided.
 */
#define ARENA_AHEAD ((size_t)64u << 20)
enum arena_touch { ARENA_TOUCH_MORE, ARENA_TOUCH_ENOUGH, ARENA_TOUCH_NEVER };
enum arena_touch arena_touch_ahead(struct arena *arena);

/*
 * The node has started: from now on pages are refused that would have to come from what is kept for
 * its next start, which are `spare` and `owed` ones. Thread-safe.
 */
void arena_started(struct arena *arena);

/* So many pages more (or less) are owed. Never refused: what has happened is told. Thread-safe. */
void arena_owe(struct arena *arena, enum resource_group group, enum arena_owed kind,
               int32_t change);

/*
 * One page of 32 KB for `group`, or NULL when the group is at its maximum or has none left but what
 * is kept for a start. The content is undefined. Thread-safe.
 */
void *arena_page(struct arena *arena, enum resource_group group);

/* Returns a page got from arena_page() for the same group. Thread-safe. */
void arena_page_release(struct arena *arena, enum resource_group group, void *page);

/*
 * `size` bytes, zeroed, aligned to 64, that live as long as the arena: for what is made once, when
 * a node is created. NULL when the group is at its maximum. Thread-safe.
 */
void *arena_alloc(struct arena *arena, enum resource_group group, size_t size);

/*
 * A name without pointers for memory of the arena, for signals of this node: number of the 32 KB
 * page and the byte within it. ARENA_NOWHERE when `memory` is not the arena's.
 */
#define ARENA_NOWHERE UINT32_MAX
uint32_t arena_page_no(const struct arena *arena, const void *memory);

/* The memory of such a name; NULL unless all `size` bytes have been handed out by this arena.
 * Thread-safe. */
void *arena_at(struct arena *arena, uint32_t page_no, uint32_t offset, uint64_t size);

/* The figures of one group. Thread-safe. */
struct resource_usage arena_usage(const struct arena *arena, enum resource_group group);

/* "DATA_MEMORY", ... for reports. */
const char *resource_group_name(enum resource_group group);
