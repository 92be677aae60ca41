/* mc_parse.h -- the protocols: bytes to requests, results to bytes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_output.h"
#include "servers/memcached/mc_request.h"

enum mc_parsed {
    MC_PARSED_MORE = 0, /* There is not a whole request yet. */
    MC_PARSED_REQUEST,
    MC_PARSED_NOTHING, /* Bytes were taken, but there is nothing to do or say (yet). */
    MC_PARSED_CLOSE    /* What came cannot be a client of this protocol. */
};

/* One connection's place between two requests. All zero: at the beginning. */
struct mc_parser {
    uint32_t value_max; /* Larger ones are refused (MC_TOO_LARGE); of all connections. */
    uint32_t line_max;  /* Bytes of a get with many keys; 0: 1 MB. */
    uint32_t line_at;   /* Text: inside a line with several keys, from its beginning; else 0. */
    uint32_t line_seen; /* Text: so many bytes at the front have no newline among them. */
    /* Text: what the requests of a line with several keys have in common. */
    struct mc_request line;
    uint64_t skip;       /* Bytes still to be swallowed: those of a value that was refused. */
    bool authenticating; /* Text: only a `set` is taken, as user and password (MC_AUTH). */
};

/*
 * Takes one request from the front of `bytes` (of `size` bytes, all that has come and is not yet
 * taken). *used says how many bytes were taken. MC_PARSED_MORE: *used is 0, and *need, if it is not
 * 0, says how many bytes there will have to be, for the size of the buffer. `request` is empty when
 * the parser is called; when it is MC_PARSED_REQUEST it is complete but for done and context.
 * A key is 1 to 250 bytes; expiries are made by mc_expiry(now). No memory for a value: the request
 * is MC_BAD with that message, and the value is swallowed.
 *
 * A plain set that is too large is MC_BAD with its key and MC_TOO_LARGE: what stands under that key
 * is to be removed. MC_BAD of all other kinds has no key.
 *
 * "get a b c" is three requests MC_GET and then one MC_NOOP that prints END; the line stays in
 * `bytes` until the last of them: line_at says where in it the parser is.
 */
enum mc_parsed mc_text_parse(struct mc_parser *parser, const char *bytes, uint32_t size,
                             uint32_t now, struct mc_request *request, uint32_t *used,
                             uint32_t *need);
enum mc_parsed mc_binary_parse(struct mc_parser *parser, const char *bytes, uint32_t size,
                               uint32_t now, struct mc_request *request, uint32_t *used,
                               uint32_t *need);

/* The reply to a request whose result is complete; nothing, if it is quiet about that. `now` for
   times to live. By request->form.protocol. After an error in a line with several keys no END may
   follow: make the line's other requests and its MC_NOOP quiet. result.message is the line itself
   of MC_BAD, MC_STATS (unless statistics were printed) and MC_SHUTDOWN, the number of MC_VERSION;
   of others what follows SERVER_ERROR or CLIENT_ERROR. */
void mc_reply(const struct mc_request *request, uint32_t now, struct mc_output *output);
/* One line of the reply to MC_STATS; the last one has no name: the reply's end. */
void mc_reply_stat(const struct mc_request *request, const char *name, const char *value,
                   struct mc_output *output);

/* The parts of the above, one per file. */
void mc_text_reply_stat(const char *name, const char *value, struct mc_output *output);
void mc_binary_reply_stat(const struct mc_request *request, const char *name, const char *value,
                          struct mc_output *output);
void mc_text_reply(const struct mc_request *request, struct mc_output *output);
void mc_meta_reply(const struct mc_request *request, uint32_t now, struct mc_output *output);
void mc_binary_reply(const struct mc_request *request, struct mc_output *output);
void mc_binary_reply_stat(const struct mc_request *request, const char *name, const char *value,
                          struct mc_output *output);
