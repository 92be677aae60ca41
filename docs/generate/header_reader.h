/* header_reader.h -- a public header as its sections, comments and declarations: what the manual's
 * pages are made from. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stddef.h>

enum declaration_kind { DECLARES_FUNCTION, DECLARES_TYPE, DECLARES_CALLBACK, DECLARES_MACRO };

struct declaration {
    enum declaration_kind kind;
    char *name; /* "ndb_open", "struct ndb_field", "ndb_callback", "NDB_FIELD" */
    /* The text as it stands, with the comments inside; a macro without the lines of its body. */
    char *text;
};

/* A comment and the declarations right behind it, which it is about. */
#define ITEM_DECLARATIONS 16
struct item {
    char *comment; /* The comment without its frame; indentation is kept. NULL: none. */
    struct declaration declarations[ITEM_DECLARATIONS];
    size_t count;
};

#define SECTION_ITEMS 96
struct section {
    char *title; /* "Scans"; NULL: what stands before the first one. */
    struct item items[SECTION_ITEMS];
    size_t count;
};

#define HEADER_SECTIONS 24
struct header {
    const char *name; /* "ndb.h" */
    char *comment;    /* What the file's first comments say, without its name and licence. */
    struct section sections[HEADER_SECTIONS];
    size_t count;
};

/* Ends the program, with a message that says where, when the file is not as it must be: a function
 * without a comment is one of the reasons. */
void header_read(struct header *header, const char *directory, const char *name);

/* The same of a header that `header`, which has been read, includes: its sections are more of it. */
void header_part_read(struct header *header, const char *directory, const char *name);

/* malloc'ed copies of a piece of text: as it is, and with one blank for each stretch of blanks. */
char *text_copy(const char *from, size_t length);
char *text_on_one_line(const char *from, size_t length);
_Noreturn void generator_fails(const char *where, const char *what);
