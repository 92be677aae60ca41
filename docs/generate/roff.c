/* roff.c -- text for man(7): what has a meaning for troff is escaped, names have a font. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "docs/generate/roff.h"

#define LINE_COLUMNS 96

static void put(struct roff *roff, char c)
{
    switch (c) {
    case '\\':
        (void)fputs("\\e", roff->out);
        break;
    case '^':
        (void)fputs("\\(ha", roff->out);
        break;
    case '~':
        (void)fputs("\\(ti", roff->out);
        break;
    default:
        (void)fputc(c, roff->out);
    }
}

static void put_code(struct roff *roff, const char *text, size_t length)
{
    if (length > 0 && (*text == '.' || *text == '\'')) (void)fputs("\\&", roff->out);
    for (size_t i = 0; i < length; i++) {
        switch (text[i]) {
        case '-':
            (void)fputs("\\-", roff->out);
            break;
        case '\'':
            (void)fputs("\\(aq", roff->out);
            break;
        case '`':
            (void)fputs("\\(ga", roff->out);
            break;
        default:
            put(roff, text[i]);
        }
    }
}

/* A number of three or four digits with such a meaning, unless it says how many of something. */
static void note_code(struct roff *roff, const char *text, const char *number, size_t length)
{
    static const char *const counted[] = {" words", " fragments", " bytes", " restarts",
                                          " of each"};
    static const char *const before[] = {"most ", "least ", "to ", "= ", "phase, "};

    if (length < 3 || length > 4) return;
    if (number > text && strchr("-+.,/*<[", number[-1]) != NULL) return;
    if (number[length] == ',' && isdigit((unsigned char)number[length + 1])) return;
    for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
        if (strncmp(number + length, counted[i], strlen(counted[i])) == 0) return;
    }
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
        size_t size = strlen(before[i]);
        if ((size_t)(number - text) >= size && strncmp(number - size, before[i], size) == 0) return;
    }
    uint32_t code = (uint32_t)strtoul(number, NULL, 10);
    if (roff->error_text(code) == NULL) return;
    for (size_t i = 0; i < roff->code_count; i++) {
        if (roff->codes[i] == code) return;
    }
    if (roff->code_count == ROFF_CODES) generator_fails(roff->page, "ROFF_CODES is low");
    roff->codes[roff->code_count++] = code;
}

/* An identifier, a number or one other character; what of the text this was. */
static size_t put_token(struct roff *roff, const char *text, const char *c)
{
    size_t length = 0;
    while (isalnum((unsigned char)c[length]) || c[length] == '_')
        length++;
    if (length == 0) {
        bool sign = *c == '-' &&
                    (c[1] == '-' || isdigit((unsigned char)c[1]) || (c > text && c[-1] == '-'));
        if (sign)
            (void)fputs("\\-", roff->out);
        else
            put(roff, *c);
        return 1;
    }
    if (isdigit((unsigned char)*c)) {
        note_code(roff, text, c, length);
        (void)fwrite(c, 1, length, roff->out);
        return length;
    }
    const char *page = roff->page_of(c, length);
    bool call = strncmp(c + length, "()", 2) == 0;
    if (page != NULL) {
        bool here = strcmp(page, roff->page) == 0;
        (void)fprintf(roff->out, "\\fB%.*s\\fP%s", (int)length, c, here ? "()" : "(3)");
        return length + (call ? 2 : 0);
    }
    bool bold = length > 4 && strncmp(c, "NDB_", 4) == 0;
    (void)fprintf(roff->out, bold ? "\\fB%.*s\\fP" : "%.*s", (int)length, c);
    return length;
}

void roff_words(struct roff *roff, const char *text)
{
    size_t column = 0;
    bool quoted = false;

    for (const char *c = text; *c != '\0';) {
        if (isspace((unsigned char)*c)) {
            while (isspace((unsigned char)*c))
                c++;
            const size_t word = strcspn(c, " \n");
            if (column + word > LINE_COLUMNS) {
                (void)fputc('\n', roff->out);
                column = 0;
            } else if (column > 0 && *c != '\0') {
                (void)fputc(' ', roff->out);
                column++;
            }
            continue;
        }
        if (column == 0 && (*c == '.' || *c == '\'')) (void)fputs("\\&", roff->out);
        if (*c == '`') {
            quoted = !quoted;
            (void)fputs(quoted ? "\\fI" : "\\fP", roff->out);
            c++;
            continue;
        }
        size_t length = put_token(roff, text, c);
        c += length;
        column += length;
    }
    if (quoted) generator_fails(roff->page, "a ` without another one");
    (void)fputc('\n', roff->out);
}

void roff_code(struct roff *roff, const char *text)
{
    (void)fputs(".PP\n.in +4n\n.EX\n", roff->out);
    for (const char *line = text; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        put_code(roff, line, length);
        (void)fputc('\n', roff->out);
        line += length + (line[length] == '\n');
    }
    (void)fputs(".EE\n.in\n", roff->out);
}

/* How many lines, from this one on, are of its kind: indented, empty, or text. */
static size_t block_length(const char *text, bool indented)
{
    size_t length = 0;
    for (const char *line = text; *line != '\0' && *line != '\n';) {
        if ((*line == ' ') != indented) break;
        line += strcspn(line, "\n");
        length = (size_t)(line - text);
        if (*line == '\n') line++;
    }
    return length;
}

void roff_comment(struct roff *roff, const char *comment)
{
    for (const char *c = comment; *c != '\0';) {
        if (*c == '\n') {
            c++;
            continue;
        }
        bool indented = *c == ' ';
        size_t length = block_length(c, indented);
        char *block = text_copy(c, length);
        if (indented) {
            roff_code(roff, block);
        } else {
            (void)fputs(".PP\n", roff->out);
            roff_words(roff, block);
        }
        free(block);
        c += length;
    }
}

/* The last name in a parameter: of "const char *name" or "int enabled[NDB_MGM_SEVERITIES]". */
static const char *parameter_name(const char *from, const char *end)
{
    const char *bracket = memchr(from, '[', (size_t)(end - from));
    const char *c = bracket != NULL ? bracket : end;
    while (c > from && (isalnum((unsigned char)c[-1]) || c[-1] == '_'))
        c--;
    return c > from ? c : end; /* "void" is no name. */
}

static void put_unbroken(struct roff *roff, const char *from, const char *end)
{
    for (const char *c = from; c < end; c++) {
        if (*c == ' ')
            (void)fputs("\\ ", roff->out);
        else
            put_code(roff, c, 1);
    }
}

void roff_prototype(struct roff *roff, const char *text)
{
    const char *open = strchr(text, '(');
    const char *end = strrchr(text, ')');
    if (open == NULL || end == NULL) generator_fails(text, "is no function");

    (void)fputs(".PP\n.in +4n\n.ti -4n\n\\fB", roff->out);
    put_unbroken(roff, text, open + 1);
    (void)fputs("\\:", roff->out); /* A long one may go on in the next line. */
    for (const char *c = open + 1; c < end;) {
        size_t length = strcspn(c, ",)");
        const char *name = parameter_name(c, c + length);
        size_t name_length = strcspn(name, ",)[");
        put_unbroken(roff, c, name);
        if (name < c + length) {
            (void)fputs("\\fI", roff->out);
            put_unbroken(roff, name, name + name_length);
            (void)fputs("\\fB", roff->out);
            put_unbroken(roff, name + name_length, c + length);
        }
        c += length;
        if (c < end) (void)fputs(",\n", roff->out);
        while (c < end && (*c == ',' || *c == ' '))
            c++;
    }
    (void)fputs(");\\fP\n.in\n", roff->out);
}
