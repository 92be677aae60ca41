/* lcp_ctl.h -- the control files of checkpoints: what makes one state of a fragment. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* There are two per fragment, written in turn, one LCP_ALIGN each. */
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "formats/lcp_format.h"

struct lcp_ctl_file {
    uint32_t seq;
    uint32_t which;
    uint32_t start_gci;
    uint32_t blocks;
    uint32_t pages;
    uint32_t rows_lo;
    uint32_t rows_hi;
    uint32_t bytes_lo; /* Bytes of the file without the zeros at the end. */
    uint32_t bytes_hi;
    uint32_t digest_lo;
    uint32_t digest_hi;
    uint32_t deltas; /* Pages among these that are delta pages. */
};
static_assert(sizeof(struct lcp_ctl_file) == 48, "no padding");

struct lcp_ctl {
    uint32_t magic;
    uint32_t sum_lo; /* Checksum of all that follows, up to LCP_ALIGN. */
    uint32_t sum_hi;
    uint32_t format;
    struct lcp_ident ident;
    uint32_t slot;      /* 0 or 1, as in the name. */
    uint32_t seq;       /* Sequence number of the newest file. */
    uint32_t lcp_id;    /* Round of checkpoints. */
    uint32_t start_gci; /* The log from this GCI on repairs the state. */
    uint32_t end_gci;   /* The state is usable once this GCI is durable. */
    /* Pages with numbers below this are in the state; older files may have others. */
    uint32_t pages;
    /* Number of the control file: the greater one of the two is newer; its slot is number % 2. */
    uint32_t number;
    uint32_t file_count;
    struct lcp_ctl_file file[LCP_FILES_MAX]; /* Oldest first. */
    uint32_t part; /* Number of the LDM's newest list when this was written; 0 = there was none. */
    /* Life of the LDM's redo log; 0 = it has none, or who wrote this has not known. */
    uint32_t life;
    uint32_t unused[908];
};
static_assert(sizeof(struct lcp_ctl) == LCP_ALIGN, "one aligned write");

void lcp_ctl_seal(struct lcp_ctl *ctl);
/* `ident` may be NULL: any. */
enum lcp_fault lcp_ctl_check(const struct lcp_ctl *ctl, const struct lcp_ident *ident,
                             uint32_t slot);
