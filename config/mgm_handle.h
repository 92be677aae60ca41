/* mgm_handle.h -- the management client's handle, shared by its files. Private. */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/message.h"
#include "ndb/mgm.h"

#define MGM_ADDRESSES_MAX 32u
#define MGM_STOP_FACTOR   10u /* Stop and restart wait so many times the timeout. */

struct mgm_address {
    char host[256];
    uint16_t port;
};

struct mgm_connectstring {
    uint32_t node_id; /* Node id that the string names; 0: none. */
    char bind_host[256];
    uint16_t bind_port;
    uint32_t count;
    struct mgm_address addresses[MGM_ADDRESSES_MAX];
};

struct ndb_mgm_handle {
    struct mgm_connectstring target;
    int socket;         /* The socket; -1: not connected. */
    uint32_t connected; /* Index of the address that is in use. */
    uint32_t timeout_ms;
    bool listener;
    char name[64];
    int error;
    char error_text[640];
    struct mgm_parser reply;
    uint8_t in[16384]; /* Bytes read and not yet used. */
    size_t in_used;
    struct ndb_mgm_event event; /* The event that is being read. */
    char line[MGM_LINE_MAX + 1];
    uint32_t line_used;
};

/* Reads a connect string. 0, or -1 with the reason in `why`. */
int mgm_connectstring_parse(const char *text, struct mgm_connectstring *out, char *why,
                            size_t why_size);

/* Sets the error and returns -1; a handle that is NULL has none. */
int mgm_fail(ndb_mgm_handle_t *handle, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How long a call waits, in milliseconds. A handle that is NULL is refused by what is called. */
static inline uint64_t mgm_wait(const ndb_mgm_handle_t *handle)
{
    return handle == NULL ? 0 : handle->timeout_ms;
}

/* False, with the error: the text, named `what`, is missing or would be more than a line of the
 * request. */
bool mgm_is_line(ndb_mgm_handle_t *handle, const char *what, const char *text);

uint64_t mgm_now_ms(void);
/* Sends all bytes / waits for more; 0 or -1 with the error set and the connection closed.
 * mgm_receive returns 1 when the time is over. */
int mgm_send(ndb_mgm_handle_t *handle, const char *bytes, size_t size);
int mgm_receive(ndb_mgm_handle_t *handle, uint64_t deadline_ms);
void mgm_take(ndb_mgm_handle_t *handle, size_t size);

/* One exchange: sends the request (command and lines, without the empty line) and reads the reply's
 * message into handle->reply. -1 also when the reply is an error, with the server's text. */
int mgm_call(ndb_mgm_handle_t *handle, uint64_t wait_ms, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A number of the reply, or `missing`. */
int64_t mgm_reply_number(const ndb_mgm_handle_t *handle, const char *name, int64_t missing);
