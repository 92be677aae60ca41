/* mc_script.h -- a client's bytes through mc_text_parse, in pieces of any size. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "servers/memcached/mc_parse.h"

#define MC_SCRIPT_NOW 1000000u

struct mc_script {
    struct mc_parser parser;
    /* Size of the next piece; NULL: all at once. */
    uint32_t (*piece)(void *context);
    void *context;
    bool
        exact; /* Every call gets a copy of what is there, so that the sanitizer sees any excess. */
    bool silent; /* No transcript. */
    /* The members from here on say what came of it. */
    struct mc_output transcript; /* A line for each request, and for the end of the connection. */
    uint32_t requests;
    uint32_t left; /* Bytes that were not taken. */
    bool closed;
    const char *broken; /* NULL, or which promise of mc_parse.h was broken. */
};

/* Values of up to 1000 bytes. */
void mc_script_begin(struct mc_script *script);
void mc_script_run(struct mc_script *script, const char *bytes, uint32_t size);
/* The transcript as a string, valid until the end. */
const char *mc_script_text(struct mc_script *script);
void mc_script_end(struct mc_script *script);
