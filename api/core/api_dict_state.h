/* api_dict_state.h -- private: requests to the dictionary. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "api/core/api_dict.h"
#include "api/core/api_state.h"

enum api_dict_kind { DICT_GET = 0, DICT_CREATE, DICT_DROP, DICT_ALTER, DICT_LIST };

struct api_dict_request {
    struct api_record record; /* ref = sender_data */
    struct api_client *client;
    enum api_dict_kind kind;
    uint32_t node;   /* Asked node, 0 = to be sent at retry_ms. */
    uint32_t epoch;  /* Epoch of the link to that node. */
    uint32_t master; /* Master that an ERR_NOT_MASTER has named. */
    uint32_t heard;  /* For reads: the node whose answer is in `said` until another's has come. */
    uint32_t heard_epoch;
    struct api_dict_result said;
    uint64_t changes; /* `changes` of the core when the request began. */
    uint32_t lives;   /* api_core_lives() when it was sent last. */
    uint64_t retry_ms;
    uint64_t deadline_ms;
    uint32_t timeout_ms;
    uint32_t *words; /* The request, packed, malloc'ed. */
    uint32_t count;
    uint32_t table_id; /* For a list: the next id. */
    uint32_t version;
    char name[TABLE_NAME_MAX + 8];
    uint32_t *list;
    uint32_t list_words;
    uint32_t list_room;
    uint32_t list_count;
    api_dict_done done;
    api_dict_progress progress; /* For DICT_ALTER; may be NULL. */
    void *context;
};

/* api_dict.c */
bool api_dict_is_read(const struct api_dict_request *request);
/* Asks a node, or tries it again later when there is none. May complete it. */
void api_dict_send(struct api_dict_request *request);
void api_dict_retry_later(struct api_dict_request *request);
/* A node's list comes in batches, all from that node. */
void api_dict_begin_list(struct api_dict_request *request);
/* The answer that waits for another node's is forgotten. */
void api_dict_unsay(struct api_dict_request *request);
/* Completes it with the answer that has waited. */
void api_dict_believe(struct api_dict_request *request);
/* These two call the application's completion; the request is gone by then. */
void api_dict_complete(struct api_dict_request *request, struct api_dict_result *result);
void api_dict_fail(struct api_dict_request *request, uint32_t error);
void api_dict_link_down(struct api_client *client, uint32_t peer, uint32_t epoch);
void api_dict_expire(struct api_client *client);
void api_dict_drop_all(struct api_client *client);

/* api_dict_cache.c */
/* How often tables may have changed so far. */
uint64_t api_dict_changes(struct api_core *core);
/* Keeps the table for others, unless any may have changed since it was asked for. */
void api_dict_keep(const struct api_dict_request *request, struct api_table *table);
/* Forgets all tables. Any thread. */
void api_dict_drop_cache(struct api_core *core);

/* api_dict_answer.c */
void api_exec_dict(struct api_client *client, uint32_t peer, const uint32_t *words);
