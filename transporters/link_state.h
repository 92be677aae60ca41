/* link_state.h -- private: what the files of a link share. Everybody else uses link.h. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "transporters/handshake.h"
#include "transporters/link.h"
#include "transporters/send_buffer.h"

/* Bytes of the receive buffer before the handshake is done; it holds 32 of its messages. */
#define LINK_RECEIVE_BYTES_MIN 4096u

struct link {
    struct link_options options;
    enum link_state state;
    enum link_refusal refusal;
    uint64_t foreign_cluster; /* The peer that refused this end for its cluster id has this one. */
    struct link_peer peer;
    uint64_t started_ms;
    char reason[LINK_REASON_SIZE];

    /* Bytes begin..end of the buffer are received and not yet handled; begin is a multiple of 4. */
    uint8_t *buffer;
    uint32_t capacity;
    uint32_t begin;
    uint32_t end;
    uint32_t frame_number; /* Number of the last frame received. */
    uint64_t receive_seed;

    struct send_buffer send;
    bool split;     /* The sending half that counts has another owner. */
    bool farewell;  /* The link is split, and the owner of its half has to say goodbye. */
    bool dismissed; /* The peer has said goodbye. */
    struct link_statistics counted;
};

/* link.c */
/* Moves to CLOSING, if the link is not there yet: the first reason counts. Nothing is said to the
 * peer. */
void link_set_closing(struct link *link, const char *reason);

/* link_handshake.c */
/* Ends the handshake: the peer is told why, and the link is CLOSING. */
void link_refuse(struct link *link, enum link_refusal refusal, const char *text);
/* Takes one message of the handshake off the buffer. False: more bytes are needed, or the link is
 * CLOSING. */
bool link_handle_handshake(struct link *link);

/* link_receive.c */
/* Makes room for `capacity` bytes and keeps what is there. False: there is no memory, and the link
 * is CLOSING. */
bool link_grow(struct link *link, uint32_t capacity);
