/* sysfile_format.h -- what a system file looks like: which GCI is durable, in which incarnation of
 * the cluster, and where the logs of all nodes end. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "formats/file_header.h"
#include "formats/log_ends.h"

/*
 * Two copies. Each is a file_header, then struct sysfile as far as its list of log ends is in use,
 * zeros to the end of a block, whose last 8 bytes are XXH3 of all before. One block is enough for
 * 66 nodes with four LDM instances each. The file may be longer, of a time when the list was.
 *
 * Layout 4 said nothing of the dictionary, layout 3 nothing of the lists of checkpoints either.
 * Layout 2 had one block, and the ends of the node's own logs alone. All are read, and never
 * written any more.
 */
#define SYSFILE_BLOCK     4096u
#define SYSFILE_BYTES_MAX (19u * SYSFILE_BLOCK)
#define SYSFILE_COPIES    2u
#define SYSFILE_LAYOUT    0x53595305u /* Layout of struct sysfile; its low byte is the number. */
#define SYSFILE_LAYOUT_4  0x53595304u
#define SYSFILE_LAYOUT_3  0x53595303u
#define SYSFILE_LAYOUT_2  0x53595302u
#define SYSFILE_ENDED_MAX 64u
#define SYSFILE_LDM_MAX   LOG_ENDS_PARTS /* Log parts whose ends a file keeps. */
#define SYSFILE_NODES     256u
#define SYSFILE_NO_GROUP  255u

/* An entry is about the incarnations up to this one, and behind the entry before. */
struct sysfile_ended {
    uint32_t incarnation;
    uint32_t gci; /* GCI at which they ended: what is above was lost. */
};

/* The newest list of checkpoints of an LDM, when this was written: it must be there, or the one
 * that follows it. */
struct sysfile_list {
    uint32_t number; /* 0: there has been none in this life of the node. */
    uint32_t check;
};

enum sysfile_list_verdict {
    SYSFILE_LIST_GOOD = 0, /* The list that is named, or the one that follows it. */
    SYSFILE_LIST_STALE,    /* The list is missing, older, or of another life. */
    SYSFILE_LIST_AHEAD     /* The system file is older than the list. */
};

struct sysfile {
    uint32_t layout;      /* SYSFILE_LAYOUT */
    uint32_t incarnation; /* The cluster's: each start makes it greater. */
    uint32_t gci;         /* Newest GCI that can be restored. */
    uint32_t ended_count;
    struct sysfile_ended ended[SYSFILE_ENDED_MAX]; /* Former incarnations, oldest first. */
    uint8_t nodegroup[SYSFILE_NODES]; /* Dense numbers of node groups; SYSFILE_NO_GROUP = none. */
    struct node_mask members;         /* Nodes that took part in the incarnation. */
    uint32_t ldm_count;               /* LDM instances of this node. */
    uint32_t bytes; /* Bytes of the copy, header and checksum included; a multiple of a block. */
    uint32_t lists_known; /* 0: a former layout, `list` says nothing. */
    struct sysfile_list list[SYSFILE_LDM_MAX];
    uint32_t schema_lo; /* Sequence of the dictionary that was in both schema files; 0: unknown. */
    uint32_t schema_hi;
    /* Ends of the logs of all nodes, this one included, when `gci` was durable in all of them. */
    struct log_ends ends;
};
_Static_assert(FILE_HEADER_BYTES + sizeof(struct sysfile) + 8u <= SYSFILE_BYTES_MAX,
               "room for the longest list");

/* True when these bytes, of which there may be more than the copy has, have their checksum;
 * `content` gets what they say, in today's layout. One of another layout is the caller's to see. */
bool sysfile_content(const uint8_t *bytes, size_t size, struct sysfile *content);
/* Is it the list of that LDM (from 0 on) that must be there? `number` 0: none was found; `before`
 * is the check of the one before it, as it says itself. */
enum sysfile_list_verdict sysfile_list_judge(const struct sysfile *content, uint32_t ldm,
                                             const struct sysfile_list *found, uint32_t before);
/* Makes a copy at `bytes`, SYSFILE_BYTES_MAX long, of header and content, whose `bytes` is set;
 * returns that. */
uint32_t sysfile_seal(uint8_t *bytes, const struct file_header *header, struct sysfile *content);
