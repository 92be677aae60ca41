/* ndb_mgm_options.c -- reads the management console's command line, and says what is wrong with it.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/ndb_mgm_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ndb/ndb.h"
#include "tools/ndb_mgm_suggest.h"

enum { OPT_FORMAT = 1000, OPT_HELP, OPT_USAGE };
enum { RETRIES_MAX = 100000, PORT_MAX = 65535 };

static const struct option long_options[] = {{"execute", required_argument, NULL, 'e'},
                                             {"ndb-connectstring", required_argument, NULL, 'c'},
                                             {"connect-string", required_argument, NULL, 'c'},
                                             {"ndb-mgmd-host", required_argument, NULL, 'c'},
                                             {"try-reconnect", required_argument, NULL, 't'},
                                             {"connect-retries", required_argument, NULL, 't'},
                                             {"prompt", required_argument, NULL, 'p'},
                                             {"format", required_argument, NULL, OPT_FORMAT},
                                             {"version", no_argument, NULL, 'V'},
                                             {"help", no_argument, NULL, OPT_HELP},
                                             {"usage", no_argument, NULL, OPT_USAGE},
                                             {NULL, 0, NULL, 0}};

/* What an option's value may be. */
static const char *allowed(int option)
{
    switch (option) {
    case 'e':
        return "commands, separated by ;";
    case 'c':
        return "host[:port][,host[:port]...], at most 1023 bytes";
    case 't':
        return "a number from 0 to 100000, or -1: for ever";
    case 'p':
        return "a text of at most 127 bytes";
    case OPT_FORMAT:
        return "text, json";
    default:
        return "nothing";
    }
}

static void print_usage(void)
{
    printf("Usage: ndb_mgm [options] [hostname [port]]\n"
           "The management console.\n\n"
           "  -c, --ndb-connectstring=s, --connect-string=s, --ndb-mgmd-host=s\n"
           "                             host[:port][,host[:port]...] (NDB_CONNECTSTRING, "
           "localhost:1186)\n"
           "  -e, --execute=commands     execute them (separated by ;); exit status 0: all have "
           "succeeded\n"
           "  -t, --try-reconnect=n, --connect-retries=n\n"
           "                             attempts to connect (12), -1: for ever\n"
           "  -p, --prompt=text          the prompt\n"
           "      --format=text|json     output of SHOW, STATUS, REPORT and CLUSTERLOG INFO\n"
           "  -?, --help                 print this\n"
           "      --usage                print the options alone\n"
           "  -V, --version              print the version\n");
}

static void print_short_usage(void)
{
    printf("Usage: ndb_mgm [-?V] [-c s] [-e commands] [-t n] [-p text] [--ndb-connectstring=s]\n"
           "            [--connect-string=s] [--ndb-mgmd-host=s] [--execute=commands]\n"
           "            [--try-reconnect=n] [--connect-retries=n] [--prompt=text]\n"
           "            [--format=text|json] [--help] [--usage] [--version] [hostname [port]]\n");
}

static int refuse(FILE *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(FILE *err, const char *format, ...)
{
    va_list args;

    (void)fprintf(err, "ndb_mgm: ");
    va_start(args, format);
    (void)vfprintf(err, format, args);
    va_end(args);
    (void)fprintf(err, "\nTry 'ndb_mgm --help'\n");
    return -1;
}

/* `index` is that of the long option, -1: it was given as one letter. */
static int refuse_value(FILE *err, int option, int index, const char *value)
{
    if (index >= 0)
        return refuse(err, "--%s=%s is wrong (allowed: %s)", long_options[index].name, value,
                      allowed(option));
    return refuse(err, "-%c %s is wrong (allowed: %s)", option, value, allowed(option));
}

static void list(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, size - used, "%s--%s", used == 0 ? "" : ", ", name);
}

/* A long option that is none, or the beginning of several. */
static int refuse_long(FILE *err, const char *word)
{
    struct console_choices names = {.count = 0};
    char name[CONSOLE_WORD_MAX];
    char all[400] = "";
    char begun[400] = "";

    (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (const struct option *option = long_options; option->name != NULL; option++) {
        console_add_choice(&names, option->name);
        list(all, sizeof(all), option->name);
        if (strncmp(option->name, name, strlen(name)) == 0)
            list(begun, sizeof(begun), option->name);
    }
    if (begun[0] != '\0') return refuse(err, "--%s is the beginning of %s", name, begun);
    const char *nearest = console_nearest(name, &names);
    if (nearest != NULL)
        return refuse(err, "there is no option --%s. Did you mean --%s?", name, nearest);
    return refuse(err, "there is no option --%s (allowed: %s)", name, all);
}

/* What getopt does not know. `option`: ':' without its value. */
static int refuse_option(FILE *err, int option, const char *word)
{
    if (option == ':' && strncmp(word, "--", 2) == 0)
        return refuse(err, "%s needs a value (allowed: %s)", word, allowed(optopt));
    if (option == ':')
        return refuse(err, "-%c needs a value (allowed: %s)", optopt, allowed(optopt));
    if (optopt == 0) return refuse_long(err, word);
    if (optopt == 'V' || optopt == OPT_HELP ||
        optopt == OPT_USAGE) /* As one letter they are options. */
        return refuse(err, "%.*s takes no value", (int)strcspn(word, "="), word);
    return refuse(err, "there is no option -%c (allowed: -c, -e, -t, -p, -?, -V)", optopt);
}

/* A decimal number of the range; -1 otherwise. */
static int read_number(const char *text, long min, long max, int *value)
{
    char *end = NULL;

    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < min || number > max) return -1;
    if (strspn(text, "-0123456789") != strlen(text)) return -1; /* Blanks, +. */
    *value = (int)number;
    return 0;
}

/* False: it does not fit. */
static bool copy(char *to, size_t size, const char *text)
{
    int length = snprintf(to, size, "%s", text);

    return length >= 0 && (size_t)length < size;
}

/* The connect string without an option: one argument, or host and port. */
static int read_arguments(struct console_options *options, int argc, char **argv, FILE *err)
{
    char text[1100];
    int port;

    if (argc - optind > 2)
        return refuse(err, "unexpected argument %s (allowed: host and port)", argv[optind + 2]);
    if (optind == argc) return 0;
    if (argc - optind == 2 && read_number(argv[optind + 1], 1, PORT_MAX, &port) != 0)
        return refuse(err, "port %s is wrong (allowed range 1..65535)", argv[optind + 1]);
    if (argc - optind == 2 && strchr(argv[optind], ',') != NULL)
        return refuse(err, "port %s is of which of these servers: %s? Write host:port for each",
                      argv[optind + 1], argv[optind]);
    bool fits = strlen(argv[optind]) + sizeof("[]:65535") <= sizeof(text);
    bool ipv6 = strchr(argv[optind], ':') != NULL && argv[optind][0] != '[';
    if (argc - optind == 2)
        (void)snprintf(text, sizeof(text), ipv6 ? "[%s]:%d" : "%s:%d", argv[optind], port);
    else
        (void)snprintf(text, sizeof(text), "%s", argv[optind]);
    if (!fits || !copy(options->connectstring, sizeof(options->connectstring), text))
        return refuse(err, "the connect string is too long (allowed: %s)", allowed('c'));
    return 0;
}

/* One option with its value; false: it is wrong. */
static bool take(struct console *console, struct console_options *options, int option,
                 const char *value)
{
    switch (option) {
    case 'e':
        options->execute = value;
        return true;
    case 'c':
        return copy(options->connectstring, sizeof(options->connectstring), value);
    case 't':
        return read_number(value, -1, RETRIES_MAX, &console->retries) == 0;
    case 'p':
        return copy(console->prompt, sizeof(console->prompt), value);
    case OPT_FORMAT:
        console->json = strcmp(value, "json") == 0;
        return console->json || strcmp(value, "text") == 0;
    default:
        return true;
    }
}

/* --help and its like: true, and it is printed. */
static bool print_and_end(int option)
{
    if (option == 'V')
        printf("ndb_mgm %s\n", NDB_CLIENT_VERSION_STRING);
    else if (option == OPT_USAGE)
        print_short_usage();
    else if (option == OPT_HELP || (option == '?' && optopt == '?'))
        print_usage();
    else
        return false;
    return true;
}

int console_read_options(struct console *console, struct console_options *options, int argc,
                         char **argv, FILE *err)
{
    *options = (struct console_options){.execute = NULL};
    opterr = 0;
    optind = 0; /* glibc: from the beginning, also for a second time. */
    for (;;) {
        int index = -1;
        int option = getopt_long(argc, argv, ":e:c:t:p:V", long_options, &index);
        if (option == -1) break;
        options->done = print_and_end(option);
        if (options->done) return 0;
        if (option == '?' || option == ':') return refuse_option(err, option, argv[optind - 1]);
        if (option == 'e' && options->execute != NULL)
            return refuse(err, "--execute is given twice (allowed: once, with commands separated "
                               "by ;)");
        if (!take(console, options, option, optarg))
            return refuse_value(err, option, index, optarg);
    }
    return read_arguments(options, argc, argv, err);
}
