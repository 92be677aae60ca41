/* roff.h -- comments and declarations as text of a manual page. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "docs/generate/header_reader.h"

#define ROFF_CODES 256
struct roff {
    FILE *out;
    const char *page; /* Functions of this one get no (3). */
    /* The page that describes a function, NULL: there is no such function. */
    const char *(*page_of)(const char *name, size_t length);
    /* The text of an error's number, NULL: none. */
    const char *(*error_text)(uint32_t code);
    uint32_t codes[ROFF_CODES]; /* Numbers of errors that the page has named. */
    size_t code_count;
};

/* Paragraphs; lines that are indented stay as they are. */
void roff_comment(struct roff *roff, const char *comment);
/* One paragraph's words. */
void roff_words(struct roff *roff, const char *text);
/* Code on lines of its own. */
void roff_code(struct roff *roff, const char *text);
/* A function's declaration, its parameters in italics. */
void roff_prototype(struct roff *roff, const char *text);
/* A struct or enum: its code without comments, then what the comments say of which member. */
void roff_type(struct roff *roff, const char *text);
