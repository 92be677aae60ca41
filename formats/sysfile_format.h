/* sysfile_format.h -- what a system file looks like: which GCI is durable, in which incarnation of
 * the cluster. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/file_header.h"
#include "kernel/base/bitmask.h"

/* One block, in two copies: a file_header, then struct sysfile, zeros, and XXH3 of all before. */
#define SYSFILE_BYTES     4096u
#define SYSFILE_HASH_AT   (SYSFILE_BYTES - 8u)
#define SYSFILE_COPIES    2u
#define SYSFILE_LAYOUT    0x53595302u /* Of struct sysfile; its low byte is the number. */
#define SYSFILE_ENDED_MAX 64u
#define SYSFILE_LDM_MAX   64u /* Log parts whose ends it keeps. */
#define SYSFILE_NODES     256u
#define SYSFILE_NO_GROUP  255u

/* Incarnations up to this one, and behind the entry before. */
struct sysfile_ended {
    uint32_t incarnation;
    uint32_t gci; /* At which they ended: what is above was lost. */
};

struct sysfile {
    uint32_t layout;      /* SYSFILE_LAYOUT */
    uint32_t incarnation; /* How often the cluster has been started. */
    uint32_t gci;         /* Newest restorable. */
    uint32_t ended_count;
    struct sysfile_ended ended[SYSFILE_ENDED_MAX]; /* Oldest first. */
    uint8_t nodegroup[SYSFILE_NODES];              /* Dense numbers; SYSFILE_NO_GROUP = none. */
    struct node_mask members;                      /* Who took part in the incarnation. */
    uint32_t ldm_count;                            /* LDM instances of this node. */
    uint32_t lsn[SYSFILE_LDM_MAX][2]; /* Low, high: last page of each one's log that was durable
                                         when `gci` became so. */
};
_Static_assert(sizeof(struct sysfile) + FILE_HEADER_BYTES <= SYSFILE_HASH_AT,
               "the checksum stands at the block's end");

/* True when a block of SYSFILE_BYTES has its checksum; `content` gets what it says. Its layout is
 * the caller's to check. */
bool sysfile_content(const uint8_t *block, struct sysfile *content);
/* Makes a block of header and content. */
void sysfile_seal(uint8_t *block, const struct file_header *header, const struct sysfile *content);
