/* roff_type.c -- a struct or enum in a manual page: the code first, then a list of what the
 * comments say of its members. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "docs/generate/roff.h"

#define MEMBERS 64
struct member {
    char *code;    /* "uint32_t limit;", "NDB_COMMIT = 2," */
    char *comment; /* NULL: none. */
};

struct members {
    const char *type; /* Name of the type, for messages. */
    struct member at[MEMBERS];
    size_t count;
};

/* A comment's words; joined to `before`, which it ends. */
static char *comment_join(char *before, const char *comment, size_t length)
{
    size_t old = before != NULL ? strlen(before) : 0;
    char *joined = malloc(old + length + 2);
    if (joined == NULL) generator_fails("malloc", "no memory");
    if (before != NULL) memcpy(joined, before, old);
    size_t to = old;
    if (old > 0) joined[to++] = ' ';
    for (const char *c = comment + 2; c < comment + length - 2; c++) {
        joined[to++] = *c;
        if (*c != '\n') continue;
        while (c[1] == ' ')
            c++;
        if (c[1] == '*' && c < comment + length - 3) c++; /* The frame. */
    }
    char *words = text_on_one_line(joined, to);
    free(joined);
    free(before);
    return words;
}

/* The code of one member: up to what ends it, or to a comment or the brace. */
static size_t code_length(const char *c, char separator)
{
    size_t length = 0;
    while (c[length] != separator && c[length] != '}' && strncmp(c + length, "/*", 2) != 0)
        length++;
    return length + (c[length] == separator);
}

/* Fills `members` with what stands between the braces; behind the closing one. */
static const char *members_read(struct members *members, const char *c, char separator)
{
    struct member *last = NULL; /* The last member on this line. */
    char *pending = NULL;       /* A comment about the member to come. */

    while (*c != '}') {
        if (*c == '\0') generator_fails(members->type, "does not end");
        if (*c == '\n') last = NULL;
        if (isspace((unsigned char)*c)) {
            c++;
        } else if (strncmp(c, "/*", 2) == 0) {
            size_t length = (size_t)(strstr(c, "*/") + 2 - c);
            char **comment = last != NULL ? &last->comment : &pending;
            *comment = comment_join(*comment, c, length);
            c += length;
        } else {
            size_t length = code_length(c, separator);
            if (members->count == MEMBERS) generator_fails(members->type, "MEMBERS is low");
            last = &members->at[members->count++];
            *last = (struct member){text_on_one_line(c, length), pending};
            pending = NULL;
            c += length;
        }
    }
    free(pending);
    return c + 1;
}

static void code_print(struct roff *roff, const char *head, const struct members *members,
                       const char *tail)
{
    size_t size = strlen(head) + strlen(tail) + 16;
    for (size_t i = 0; i < members->count; i++)
        size += strlen(members->at[i].code) + 8;
    char *code = malloc(size);
    if (code == NULL) generator_fails("malloc", "no memory");
    size_t to = (size_t)snprintf(code, size, "%s {\n", head);
    for (size_t i = 0; i < members->count; i++)
        to += (size_t)snprintf(code + to, size - to, "    %s\n", members->at[i].code);
    (void)snprintf(code + to, size - to, "}%s%s", *tail == ';' ? "" : " ", tail);
    roff_code(roff, code);
    free(code);
}

void roff_type(struct roff *roff, const char *text)
{
    struct members members = {.type = text};
    const char *brace = strchr(text, '{');
    char separator = strstr(text, "enum ") == text ? ',' : ';';
    char *head = text_on_one_line(text, (size_t)(brace - text));
    const char *behind = members_read(&members, brace + 1, separator);
    char *tail = text_on_one_line(behind, strlen(behind));

    code_print(roff, head, &members, tail);
    for (size_t i = 0; i < members.count; i++) {
        struct member *member = &members.at[i];
        if (member->comment != NULL) {
            size_t length = strcspn(member->code, ";,=");
            if (separator == ';') length = strlen(member->code) - 1; /* May have commas. */
            while (member->code[length - 1] == ' ')
                length--;
            (void)fprintf(roff->out, ".TP\n\\fB%.*s\\fP\n", (int)length, member->code);
            roff_words(roff, member->comment);
        }
        free(member->code);
        free(member->comment);
    }
    free(head);
    free(tail);
}
