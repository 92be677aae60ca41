/* tup_need.c -- pages that a restart needs for a fragment's rows besides those in use; the arena
 * keeps them from others. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fixed parts come back to their row ids, so as many pages as there were at most since the last
 * usable checkpoint began will do: rows deleted since are in it, and go when the log is repeated.
 * Other LDMs repeat theirs meanwhile, so nobody else can have that room.
 *
 * Variable parts are put where there is room, in the order of row ids, then of the log. A new page
 * is begun only when no page has as much room as the part, rounded up to a power of two: so a part
 * of s bytes leaves less than 2 s of a page of P unused, and one of over half a page may leave all.
 * So what counts of them, now and at most since then, is the pages that they may take.
 */
#include "blocks/dbtup/tup_state.h"

#define VAR_ROOM (PAGE_SIZE_BYTES - VAR_PAGE_HEAD)

uint32_t tup_need_loose(uint32_t size)
{
    uint32_t bytes = size + 4u; /* It has a directory entry. */
    if (bytes >= VAR_ROOM / 2u) return VAR_ROOM;
    return bytes + 2u * bytes * bytes / VAR_ROOM;
}

static uint32_t most(uint32_t one, uint32_t other)
{
    return one > other ? one : other;
}

static uint32_t var_loose_pages(const struct tup_frag *frag)
{
    return (uint32_t)((frag->need.var_loose + VAR_ROOM - 1u) / VAR_ROOM);
}

/* Tells the arena what has changed since it was told last. */
static void tell(struct tup_frag *frag, enum arena_owed kind, uint32_t owed)
{
    uint32_t *told = &frag->need.owed[kind];
    if (owed == *told) return;
    arena_owe(frag->tup->arena, RG_DATA, kind, (int32_t)(owed - *told));
    *told = owed;
}

/* Tells the arena what is owed when there are so many pages. */
static void tell_for(struct tup_frag *frag, uint32_t fixed_pages, uint32_t var_pages)
{
    const struct tup_need *need = &frag->need;
    uint32_t loose = most(var_loose_pages(frag), var_pages);
    uint32_t freed = most(need->fixed, fixed_pages) - fixed_pages + most(need->var, loose) - loose;
    tell(frag, ARENA_OWED_LASTING, loose - var_pages);
    tell(frag, ARENA_OWED_CHECKPOINT, freed);
}

void tup_need_fixed_ahead(struct tup_frag *frag)
{
    tell_for(frag, frag->fixed.pages + 1u, frag->var.pages);
}

void tup_need_var_ahead(struct tup_frag *frag)
{
    tell_for(frag, frag->fixed.pages, frag->var.pages + 1u);
}

/* The first word since a round began: it begins with what there was till now. */
static void round_follow(struct tup_frag *frag)
{
    struct tup_need *need = &frag->need;
    if (need->round == frag->tup->round) return;
    need->round = frag->tup->round;
    need->fixed_next = need->fixed_seen;
    need->var_next = need->var_seen;
}

void tup_need_tell(struct tup_frag *frag)
{
    struct tup_need *need = &frag->need;
    if (frag->tup->checkpoints) {
        round_follow(frag);
        need->fixed_seen = frag->fixed.pages;
        need->var_seen = most(var_loose_pages(frag), frag->var.pages);
        need->fixed = most(need->fixed, need->fixed_seen);
        need->var = most(need->var, need->var_seen);
        need->fixed_next = most(need->fixed_next, need->fixed_seen);
        need->var_next = most(need->var_next, need->var_seen);
    }
    tell_for(frag, frag->fixed.pages, frag->var.pages);
}

void tup_checkpoint_round(struct tup *tup)
{
    tup->round++;
}

void tup_checkpoint_usable(struct tup_frag *frag)
{
    struct tup_need *need = &frag->need;
    round_follow(frag);
    need->fixed = need->fixed_next;
    need->var = need->var_next;
    tup_need_tell(frag);
}

void tup_need_drop(struct tup_frag *frag)
{
    tell(frag, ARENA_OWED_LASTING, 0);
    tell(frag, ARENA_OWED_CHECKPOINT, 0);
}

void tup_need_check(const struct tup_frag *frag)
{
    const struct tup_need *need = &frag->need;
    uint32_t loose = most(var_loose_pages(frag), frag->var.pages);
    ndbrequire(!frag->tup->checkpoints || need->fixed >= frag->fixed.pages); /* I-TUP-9 */
    ndbrequire(!frag->tup->checkpoints || need->var >= loose);
    ndbrequire(need->owed[ARENA_OWED_LASTING] == loose - frag->var.pages);
    ndbrequire(need->owed[ARENA_OWED_CHECKPOINT] == most(need->fixed, frag->fixed.pages) -
                                                        frag->fixed.pages + most(need->var, loose) -
                                                        loose);
}
