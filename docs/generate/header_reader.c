/* header_reader.c -- reads a header that clang-format has laid out; no more of C than that needs.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "docs/generate/header_reader.h"

_Noreturn void generator_fails(const char *where, const char *what)
{
    fprintf(stderr, "client_pages: %s: %s\n", where, what);
    exit(1);
}

char *text_copy(const char *from, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy == NULL) generator_fails("malloc", "no memory");
    memcpy(copy, from, length);
    copy[length] = '\0';
    return copy;
}

char *text_on_one_line(const char *from, size_t length)
{
    char *copy = text_copy(from, length);
    size_t to = 0;
    for (const char *c = copy; *c != '\0'; c++) {
        if (!isspace((unsigned char)*c))
            copy[to++] = *c;
        else if (to > 0 && copy[to - 1] != ' ')
            copy[to++] = ' ';
    }
    if (to > 0 && copy[to - 1] == ' ') to--;
    copy[to] = '\0';
    return copy;
}

static char *file_read(const char *directory, const char *name)
{
    enum { SIZE = 1 << 20 };
    char path[4096];
    char *text = malloc(SIZE);

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "r");
    if (file == NULL || text == NULL) generator_fails(path, "cannot be read");
    size_t size = fread(text, 1, SIZE, file);
    if (ferror(file) || size == SIZE) generator_fails(path, "cannot be read as a whole");
    (void)fclose(file);
    text[size] = '\0';
    return text;
}

/* The content of a comment of `length` bytes: lines without the frame, as far to the left as the
 * first one. */
static char *comment_content(const char *comment, size_t length)
{
    char *content = malloc(length + 1);
    const char *end = comment + length - 2;
    const char *c = comment + 2;
    size_t to = 0;

    if (content == NULL) generator_fails("malloc", "no memory");
    for (bool first = true; c < end; first = false) {
        const char *line_end = memchr(c, '\n', (size_t)(end - c));
        if (line_end == NULL) line_end = end;
        if (first) {
            if (*c == ' ') c++;
        } else {
            for (int blanks = 0; blanks < 3 && c < line_end && *c == ' '; blanks++) {
                if (c + 1 < line_end && c[1] == '*') { /* The frame, and the blank behind it. */
                    c += c[2] == ' ' ? 3 : 2;
                    break;
                }
                c++;
            }
        }
        while (line_end > c && line_end[-1] == ' ')
            line_end--;
        if (line_end > c || to > 0) {
            memcpy(content + to, c, (size_t)(line_end - c));
            to += (size_t)(line_end - c);
            content[to++] = '\n';
        }
        c = strchr(line_end, '\n');
        if (c == NULL || c >= end) break;
        c++;
    }
    while (to > 0 && content[to - 1] == '\n')
        to--;
    content[to] = '\0';
    return content;
}

struct reader {
    struct header *header;
    struct item *item;  /* The item to which the next declaration belongs; NULL: a new one. */
    bool before_pragma; /* A comment that comes now is about the whole file. */
    bool
        is_part; /* The file is a part of a header: what it says of itself is not for the manual. */
    bool in_c_plus_plus; /* The reader is between #ifdef __cplusplus and #endif. */
};

static struct item *item_new(struct reader *r)
{
    struct section *section = &r->header->sections[r->header->count - 1];
    if (section->count == SECTION_ITEMS) generator_fails(r->header->name, "SECTION_ITEMS is low");
    r->item = &section->items[section->count++];
    return r->item;
}

/* Text is moved into the header's comment, but for the file's name and licence. */
static void header_comment_add(struct header *header, char *text)
{
    size_t name = strlen(header->name);
    if (strncmp(text, header->name, name) == 0 && strncmp(text + name, " -- ", 4) == 0) {
        memmove(text, text + name + 4, strlen(text + name + 4) + 1);
        *text = (char)toupper((unsigned char)*text); /* A sentence, now. */
    }
    char *licence = strstr(text, "SPDX-License-Identifier:");
    if (licence != NULL) {
        const char *behind = strchr(licence, '\n');
        while (behind != NULL && *behind == '\n')
            behind++;
        memmove(licence, behind != NULL ? behind : "", behind != NULL ? strlen(behind) + 1 : 1);
    }
    size_t old = header->comment != NULL ? strlen(header->comment) : 0;
    char *joined = malloc(old + strlen(text) + 3);
    if (joined == NULL) generator_fails("malloc", "no memory");
    (void)sprintf(joined, "%s%s%s", old > 0 ? header->comment : "",
                  old > 0 && *text != '\0' ? "\n\n" : "", text);
    free(header->comment);
    free(text);
    header->comment = joined;
}

static const char *comment_read(struct reader *r, const char *c)
{
    const char *end = strstr(c, "*/");
    if (end == NULL) generator_fails(r->header->name, "a comment does not end");
    end += 2;
    char *content = comment_content(c, (size_t)(end - c));
    size_t length = strlen(content);

    if (r->before_pragma && r->is_part) {
        free(content);
    } else if (r->before_pragma) {
        header_comment_add(r->header, content);
    } else if (length > 10 && strncmp(content, "---- ", 5) == 0 &&
               strcmp(content + length - 5, " ----") == 0) {
        struct header *header = r->header;
        if (header->count == HEADER_SECTIONS)
            generator_fails(header->name, "HEADER_SECTIONS is low");
        header->sections[header->count++].title = text_copy(content + 5, length - 10);
        free(content);
        r->item = NULL;
    } else {
        item_new(r)->comment = content;
    }
    return end;
}

static void declaration_add(struct reader *r, enum declaration_kind kind, char *name, char *text)
{
    struct item *item = r->item;
    /* A type behind a function begins something new. */
    if (item == NULL || (kind != DECLARES_FUNCTION && item->count > 0 &&
                         item->declarations[item->count - 1].kind == DECLARES_FUNCTION))
        item = item_new(r);
    if (kind == DECLARES_FUNCTION && item->comment == NULL)
        generator_fails(name, "a public function without a comment before it");
    if (item->count == ITEM_DECLARATIONS) generator_fails(name, "ITEM_DECLARATIONS is low");
    item->declarations[item->count++] = (struct declaration){kind, name, text};
}

static bool word_at(const char *c, const char *word)
{
    return strncmp(c, word, strlen(word)) == 0;
}

static size_t identifier_length(const char *c)
{
    size_t length = 0;
    while (isalnum((unsigned char)c[length]) || c[length] == '_')
        length++;
    return length;
}

/* A #define without its body's further lines; a comment behind it is about it. */
static void macro_read(struct reader *r, const char *c, const char *end)
{
    const char *name = c + strlen("#define ");
    size_t name_length = identifier_length(name);
    const char *comment = strstr(c, "/*");
    const char *code_end = memchr(c, '\n', (size_t)(end - c));

    if (word_at(name, "NDB_API") || word_at(name, "NDB_MGM_EXPORT")) return;
    if (code_end != NULL) { /* Only what is before the body. */
        code_end = name[name_length] == '(' ? strchr(name, ')') + 1 : name + name_length;
    } else {
        code_end = comment != NULL && comment < end ? comment : end;
    }
    declaration_add(r, DECLARES_MACRO, text_copy(name, name_length),
                    text_on_one_line(c, (size_t)(code_end - c)));
    if (comment != NULL && comment < end && r->item->comment == NULL) {
        const char *comment_end = strstr(comment, "*/");
        if (comment_end == NULL || comment_end > end)
            generator_fails(r->header->name, "a comment behind a #define goes on in the next line");
        r->item->comment = comment_content(comment, (size_t)(comment_end + 2 - comment));
    }
}

static const char *directive_read(struct reader *r, const char *c)
{
    const char *end = c;
    do {
        end = strchr(end + 1, '\n');
        if (end == NULL) generator_fails(r->header->name, "a directive does not end");
    } while (end[-1] == '\\');
    if (word_at(c, "#pragma once")) r->before_pragma = false;
    if (word_at(c, "#ifdef __cplusplus")) r->in_c_plus_plus = true;
    if (word_at(c, "#endif")) r->in_c_plus_plus = false;
    if (word_at(c, "#define ")) macro_read(r, c, end);
    return end;
}

/* Behind the semicolon that ends the declaration; comments in it may have some, too. */
static const char *declaration_end(const struct reader *r, const char *c)
{
    int depth = 0;
    for (; *c != '\0'; c++) {
        if (word_at(c, "/*")) {
            c = strstr(c, "*/");
            if (c == NULL) break;
            c++;
        } else if (*c == '{') {
            depth++;
        } else if (*c == '}') {
            depth--;
        } else if (*c == ';' && depth == 0) {
            return c + 1;
        }
    }
    generator_fails(r->header->name, "a declaration does not end");
}

static const char *declaration_read(struct reader *r, const char *c)
{
    const char *end = declaration_end(r, c);
    const char *brace = memchr(c, '{', (size_t)(end - c));
    const char *parenthesis = memchr(c, '(', (size_t)(end - c));

    if (word_at(c, "NDB_API ") || word_at(c, "NDB_MGM_EXPORT ")) {
        const char *name = parenthesis;
        if (name == NULL) generator_fails(r->header->name, "what is exported is no function");
        while (isalnum((unsigned char)name[-1]) || name[-1] == '_')
            name--;
        c = strchr(c, ' ') + 1;
        declaration_add(r, DECLARES_FUNCTION, text_copy(name, (size_t)(parenthesis - name)),
                        text_on_one_line(c, (size_t)(end - c)));
    } else if (brace != NULL) {
        const char *name = word_at(c, "typedef ") ? c + strlen("typedef ") : c;
        declaration_add(r, DECLARES_TYPE, text_on_one_line(name, (size_t)(brace - name)),
                        text_copy(c, (size_t)(end - c)));
    } else if (word_at(c, "typedef ") && parenthesis != NULL && parenthesis[1] == '*') {
        declaration_add(r, DECLARES_CALLBACK,
                        text_copy(parenthesis + 2, identifier_length(parenthesis + 2)),
                        text_on_one_line(c, (size_t)(end - c)));
    } /* else a name of a type, of which nothing more is to be known. */
    return end;
}

static void text_read(struct reader r, const char *directory, const char *name)
{
    char *text = file_read(directory, name);
    const char *c = text;

    while (*c != '\0') {
        if (*c == '\n') {
            if (c > text && c[-1] == '\n') r.item = NULL; /* A blank line. */
            c++;
        } else if (isspace((unsigned char)*c)) {
            c++;
        } else if (word_at(c, "/*") && !r.in_c_plus_plus) {
            c = comment_read(&r, c);
        } else if (*c == '#') {
            c = directive_read(&r, c);
        } else if (r.in_c_plus_plus) {
            c = strchr(c, '\n');
            if (c == NULL) generator_fails(name, "the last line does not end");
        } else {
            c = declaration_read(&r, c);
        }
    }
    free(text);
}

void header_read(struct header *header, const char *directory, const char *name)
{
    header->name = name;
    header->count = 1;
    text_read((struct reader){.header = header, .before_pragma = true}, directory, name);
}

void header_part_read(struct header *header, const char *directory, const char *name)
{
    text_read((struct reader){.header = header, .before_pragma = true, .is_part = true}, directory,
              name);
}
