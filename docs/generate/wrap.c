/* wrap.c -- breaks the lines of a page where Markdown does not care. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "docs/generate/wrap.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 120u

/* How much of the text goes into a line of this width: whole words. Code between backticks stays
 * together, and no line begins with what would be a mark there: an item, a heading, a quotation. */
static size_t line_length(const char *text, size_t length, size_t width)
{
    size_t end = length;
    bool code = false;

    if (length <= width) return length;
    for (size_t i = 0; i < length && (i <= width || end == length); i++) {
        if (text[i] == '`') code = !code;
        if (text[i] == ' ' && !code && strchr("-+#>|=", text[i + 1]) == NULL) end = i;
    }
    return end;
}

static void print_line(const char *text, size_t length)
{
    const size_t hanging = strncmp(text, "- ", 2) == 0 ? 2 : 0;
    size_t indent = 0;

    while (length > 0) {
        const size_t part = line_length(text, length, COLUMNS - indent);
        printf("%*s%.*s\n", (int)indent, "", (int)part, text);
        const size_t done = part < length ? part + 1 : part; /* The blank where it was broken. */
        text += done;
        length -= done;
        indent = hanging;
    }
}

void print_wrapped(const char *format, ...)
{
    char text[8192];
    va_list arguments;

    va_start(arguments, format);
    const int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size >= sizeof text) {
        (void)fputs("a paragraph is longer than print_wrapped() can have it\n", stderr);
        exit(1);
    }
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        print_line(line, length);
        if (length == 0) (void)fputc('\n', stdout);
        line += length + (line[length] == '\n');
    }
}
