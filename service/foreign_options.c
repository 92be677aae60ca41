/* foreign_options.c -- options of other such systems, which scripts bring along. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "service/foreign_options.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define USAGE_STATUS 2

enum takes { WITHOUT, MAY, NEEDS };
enum verdict { PASSED, REFUSED };

struct foreign_option {
    const char *program, *names;
    enum takes takes;
    const char *harmless; /* Values with which it is as it is here; NULL: none. */
    enum verdict verdict;
    const char *reason;
};

#define FOREIGN(program, names, takes, harmless, verdict, reason)                                  \
    {program, names, takes, harmless, verdict, reason},
static const struct foreign_option foreign_options[] = {
#include "service/foreign_options.def"
};
#undef FOREIGN

typedef int compare_words(const char *a, const char *b, size_t length);

/* Is it one of the comma separated words? */
static bool is_listed(const char *list, const char *word, size_t length, compare_words *compare)
{
    for (;;) {
        size_t size = strcspn(list, ",");
        if (size == length && compare(list, word, length) == 0) return true;
        if (list[size] == '\0') return false;
        list += size + 1;
    }
}

/* The option that the argument is, without its value. */
static const struct foreign_option *find(const char *program, const char *argument)
{
    size_t length = strcspn(argument, "=");

    for (size_t i = 0; i < sizeof(foreign_options) / sizeof(foreign_options[0]); i++) {
        const struct foreign_option *option = &foreign_options[i];
        if (option->program[0] != '\0' && strcmp(option->program, program) != 0) continue;
        if (is_listed(option->names, argument, length, strncmp)) return option; /* -V is no -v. */
    }
    return NULL;
}

_Noreturn static void fail(const char *program, const char *argument, const char *why)
{
    (void)fprintf(stderr, "%s: %.*s: %s\nTry '%s --help' for more information.\n", program,
                  (int)strcspn(argument, "="), argument, why, program);
    exit(USAGE_STATUS);
}

static void judge(const char *program, const char *argument, const struct foreign_option *option,
                  const char *value)
{
    const char *given = value == NULL ? "" : value;

    if (option->harmless != NULL &&
        is_listed(option->harmless, given, strlen(given), strncasecmp)) /* TRUE is true. */
        return;
    if (option->verdict == REFUSED) fail(program, argument, option->reason);
    (void)fprintf(stderr, "%s: warning: %.*s has no effect: %s\n", program,
                  (int)strcspn(argument, "="), argument, option->reason);
}

/* A value may be a number below 0, or the standard input. */
static bool is_option(const char *argument)
{
    return argument[0] == '-' && argument[1] != '\0' && !isdigit((unsigned char)argument[1]);
}

int foreign_options_take(const char *program, int argc, char **argv)
{
    int kept = 1;
    int at = 1;

    while (at < argc && strcmp(argv[at], "--") != 0) {
        char *argument = argv[at++];
        const struct foreign_option *option = argument[0] == '-' ? find(program, argument) : NULL;
        if (option == NULL) {
            argv[kept++] = argument;
            continue;
        }
        const char *value = strchr(argument, '=');
        if (value != NULL) value++;
        if (option->takes == WITHOUT && value != NULL) fail(program, argument, "it takes no value");
        if (option->takes == NEEDS && value == NULL) {
            if (at == argc || is_option(argv[at])) fail(program, argument, "it needs a value");
            value = argv[at++];
        }
        judge(program, argument, option, value);
    }
    while (at < argc)
        argv[kept++] = argv[at++];
    if (kept < argc) argv[kept] = NULL;
    return kept;
}
