/* block_ref.h -- the address of a block instance anywhere in the cluster. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include <stdint.h>

/*
 * A reference is one word:
 *
 *    31      24 23      16 15             0
 *   +----------+----------+----------------+
 *   |   node   |  block   |    instance    |
 *   +----------+----------+----------------+
 *
 * Node 0 means "no node" and reference 0 "nobody". Instance 0 of a block with several instances on
 * one node is the one that speaks for all of them (it lives in the main thread); worker instances
 * count from 1.
 */
#define NODE_ID_MAX      255u
#define DATA_NODE_ID_MAX 144u
#define REPLICAS_MAX     4u

enum block_no {
    BLOCK_NONE = 0,
    BLOCK_CMVMI = 1,      /* Node manager: configuration, events, dump, links. */
    BLOCK_QMGR = 2,       /* Membership: join, heartbeats, API registration. */
    BLOCK_NDBCNTR = 3,    /* Start and stop controller: phases. */
    BLOCK_DBDIH = 4,      /* Distribution: node groups, fragments, hash maps. */
    BLOCK_DBDICT = 5,     /* Dictionary, schema transactions. */
    BLOCK_DBTC = 6,       /* Transaction coordinator. */
    BLOCK_DBLQH = 7,      /* Local query handler. */
    BLOCK_DBACC = 8,      /* Hash index and row locks. */
    BLOCK_DBTUP = 9,      /* Rows. */
    BLOCK_DBTUX = 10,     /* Ordered index. */
    BLOCK_NDBFS = 11,     /* Files. */
    BLOCK_LCPWRITER = 12, /* Checkpoint and backup writer. */
    BLOCK_LCPREADER = 13, /* Checkpoint reader. */
    BLOCK_TRIX = 14,      /* Fills unique indexes. */
    BLOCK_COUNT = 32,     /* Blocks of a data node have smaller numbers. */
    BLOCK_API = 200,      /* A client: the instance is its ndb_t. */
    BLOCK_MGM = 201,      /* A management server. */
};

static inline uint32_t block_ref(uint32_t node, uint32_t block, uint32_t instance)
{
    return node << 24 | block << 16 | instance;
}

static inline uint32_t ref_node(uint32_t ref)
{
    return ref >> 24;
}

static inline uint32_t ref_block(uint32_t ref)
{
    return ref >> 16 & 0xFFu;
}

static inline uint32_t ref_instance(uint32_t ref)
{
    return ref & 0xFFFFu;
}
