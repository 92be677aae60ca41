/* dict_store_state.h -- private: definitions by number and name, in pieces. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "kernel/block.h"
#include "kernel/base/pool.h"
#include "values/table_def.h"

struct dict;

/* Definitions are kept in pieces of 1 KB, so that a small table does not take a page. */
#define DICT_CHUNK_WORDS 253u
struct dict_chunk {
    struct pool_record record;
    uint32_t next; /* Reference, 0 = last. */
    uint32_t words[DICT_CHUNK_WORDS];
};
#define DICT_CHUNKS_MAX 0x100000u         /* 1 GB: the schema memory is the limit. */
#define DICT_WORDS_MAX  SIGNAL_EXTENT_MAX /* Definition and distribution travel in one signal. */
#define DICT_HEAD_WORDS 32u   /* Room for the head, payload and lengths of any such signal. */
#define DICT_LIST_WORDS 4096u /* Words of tables in one LIST_TABLES_CONF, at most. */
#define DICT_NAME_BYTES (TABLE_NAME_MAX + 4u)
/* The definition of a unique index has no defaults. */
#define DICT_INDEX_DEF_BYTES                                                                       \
    (sizeof(struct table_def) +                                                                    \
     (INDEX_COLUMNS_MAX + 1u) * (sizeof(struct table_column) + COLUMN_NAME_MAX + 1u) + 8u)

/* A version of a table's definition and its distribution, in pieces. */
struct dict_stored {
    uint32_t version;
    uint32_t def_words;
    uint32_t distribution_words;
    uint32_t first_chunk; /* First piece; 0: there is none. */
};

struct dict_table {
    uint32_t state; /* enum table_state */
    /* Version of the table, or of the last one that had its number: a new one gets the next. */
    uint32_t version;
    uint32_t fragments;
    uint32_t def_words;
    uint32_t distribution_words;
    uint32_t first_chunk;
    struct dict_stored next; /* What the table is going to be, while it is altered. */
    uint32_t base_id;        /* The table whose unique index it is, 0 = an ordinary table. */
    uint32_t next_by_name;   /* Table id, 0 = last of its chain. */
    uint32_t name_size;
    char name[DICT_NAME_BYTES]; /* "database/def/table" */
    bool named;                 /* The name leads to it. */
};

/* dict_store.c */
void dict_store_init(struct dict *dict);
struct dict_table *dict_table_at(struct dict *dict, uint32_t table_id); /* NULL: no such number. */
uint32_t dict_table_by_name(struct dict *dict, const char *name, uint32_t size); /* 0: none. */
uint32_t dict_table_unused(const struct dict *dict,
                           uint32_t above); /* The first id above that one, 0: all are used. */
/* Keeps a checked definition and its distribution. 0, or an error; then nothing is kept. If there
 * is a table of this name already the name goes on leading to that one. */
uint32_t dict_store_put(struct dict *dict, const struct table_def *def, const struct section *words,
                        const struct section *distribution);
void dict_store_remove(struct dict *dict, uint32_t table_id);
/* The name leads to another table, which has had the same one all the time. */
void dict_store_replace(struct dict *dict, uint32_t old_id, uint32_t new_id);
bool dict_is_of(const struct dict *dict, uint32_t table_id,
                uint32_t base_id); /* The table is that one, or a unique index of it. */
/* Puts a table's words together in dict->scratch: sections[0] definition, sections[1] distribution.
 */
void dict_store_read(struct dict *dict, const struct dict_table *table, struct section sections[2]);

/* The same, the distribution without the nodes that are not members now. False: a fragment has no
 * replica left. */
bool dict_store_read_members(struct dict *dict, const struct dict_table *table,
                             struct section sections[2]);
/* The same for this node's TCs and LQHs. In a cluster that goes on without lost nodes these have
 * their places, as DISTRIBUTION_ABSENT. */
bool dict_store_read_places(struct dict *dict, const struct dict_table *table,
                            struct section sections[2]);
/* Reads only the distribution: the other members, in the order of their places. */
void dict_store_read_sources(struct dict *dict, const struct dict_table *table,
                             struct section *distribution);
/* The same as the schema files are to have it: what an altered table is going to be. */
void dict_store_read_next(struct dict *dict, const struct dict_table *table,
                          struct section sections[2]);
/* Keeps what a table is going to be beside what it is. 0, or an error; then nothing is kept. */
uint32_t dict_store_stage(struct dict *dict, uint32_t table_id, uint32_t version,
                          const struct section sections[2]);
/* The table becomes what was kept beside it, or that is forgotten. Without any nothing happens. */
void dict_store_adopt(struct dict *dict, uint32_t table_id);
void dict_store_unstage(struct dict *dict, uint32_t table_id);
/* Forgets all tables and versions. */
void dict_store_clear(struct dict *dict);
