/* mc_options.c -- the command line: memcached's switches, and what -e says about the cluster. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ndb/mgm.h"
#include "servers/memcached/mc_options.h"
#include "servers/memcached/mc_server.h"

enum { OPTION_BOOTSTRAP = 256, OPTION_CHAIN, OPTION_KEY, OPTION_MEMORY_FILE };
enum { ENDED = 1, WRONG = 3 }; /* The exit code + 1. */

static const struct option long_options[] = {
    {"port", required_argument, NULL, 'p'},
    {"udp-port", required_argument, NULL, 'U'},
    {"unix-socket", required_argument, NULL, 's'},
    {"unix-mask", required_argument, NULL, 'a'},
    {"listen", required_argument, NULL, 'l'},
    {"threads", required_argument, NULL, 't'},
    {"conn-limit", required_argument, NULL, 'c'},
    {"listen-backlog", required_argument, NULL, 'b'},
    {"enable-coredumps", no_argument, NULL, 'r'},
    {"lock-memory", no_argument, NULL, 'k'},
    {"enable-largepages", no_argument, NULL, 'L'},
    {"memory-limit", required_argument, NULL, 'm'},
    {"disable-evictions", no_argument, NULL, 'M'},
    {"max-item-size", required_argument, NULL, 'I'},
    {"verbose", no_argument, NULL, 'v'},
    {"user", required_argument, NULL, 'u'},
    {"pidfile", required_argument, NULL, 'P'},
    {"daemon", no_argument, NULL, 'd'},
    {"enable-sasl", no_argument, NULL, 'S'},
    {"auth-file", required_argument, NULL, 'Y'},
    {"enable-ssl", no_argument, NULL, 'Z'},
    {"ssl-chain-cert", required_argument, NULL, OPTION_CHAIN},
    {"ssl-key", required_argument, NULL, OPTION_KEY},
    {"enable-shutdown", no_argument, NULL, 'A'},
    {"protocol", required_argument, NULL, 'B'},
    {"engine-options", required_argument, NULL, 'e'},
    {"engine", required_argument, NULL, 'E'},
    {"bootstrap", no_argument, NULL, OPTION_BOOTSTRAP},
    {"disable-flush-all", no_argument, NULL, 'F'},
    {"extended", required_argument, NULL, 'o'},
    {"license", no_argument, NULL, 'i'},
    {"slab-growth-factor", required_argument, NULL, 'f'},
    {"slab-min-size", required_argument, NULL, 'n'},
    {"max-reqs-per-event", required_argument, NULL, 'R'},
    {"disable-cas", no_argument, NULL, 'C'},
    {"disable-dumping", no_argument, NULL, 'X'},
    {"disable-watch", no_argument, NULL, 'W'},
    {"napi-ids", required_argument, NULL, 'N'},
    {"napi_ids", required_argument, NULL, 'N'},
    {"memory-file", required_argument, NULL, OPTION_MEMORY_FILE},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: ndb_memcached [options]\n"
    "The cluster as a memcached server: keys are rows of tables, as the tables of schema\n"
    "ndbmemcache say (ndb_memcached --bootstrap makes them).\n\n"
    "  -e, --engine-options=TEXT  \"connectstring=HOST:PORT;role=NAME\"; also reconf=on|off\n"
    "                             (look for changes of the configuration), deadline=MS (how long\n"
    "                             temporary errors are tried again)\n"
    "  --bootstrap                make the configuration tables, and end\n"
    "  -p, --port=N               TCP port (11211); 0: none\n"
    "  -U, --udp-port=N           UDP port (0: none)\n"
    "  -s, --unix-socket=PATH     a UNIX socket instead\n"
    "  -a, --unix-mask=MODE       its access mode, octal (0700)\n"
    "  -l, --listen=ADDRESSES     addresses, by commas (all): ADDRESS, ADDRESS:PORT, [V6]:PORT; "
    "also\n"
    "                             several times\n"
    "  -t, --threads=N            threads that serve (4)\n"
    "  -c, --conn-limit=N         connections (1024)\n"
    "  -b, --listen-backlog=N     connections that may wait to be accepted (1024)\n"
    "  -m, --memory-limit=MB      memory of the local cache (64)\n"
    "  -M, --disable-evictions    an error instead of eviction when it is full\n"
    "  -I, --max-item-size=SIZE   largest value, with k or m (1m)\n"
    "  -B, --protocol=NAME        ascii, binary or auto (auto)\n"
    "  -S, --enable-sasl          clients of the binary protocol prove who they are\n"
    "  -Y, --auth-file=FILE       users and passwords, a line \"user:password\" each\n"
    "  -Z, --enable-ssl           TLS, with\n"
    "      --ssl-chain-cert=FILE, --ssl-key=FILE\n"
    "  -A, --enable-shutdown      the command \"shutdown\" is obeyed\n"
    "  -F, --disable-flush-all    the command \"flush_all\" is not\n"
    "  -u, --user=NAME            become this user, when started as root\n"
    "  -k, --lock-memory          nothing of the process is paged out\n"
    "  -r, --enable-coredumps     as large a core file as the system allows\n"
    "  -o, --extended=OPTIONS     memcached's, by commas: ssl_chain_cert=FILE and ssl_key=FILE; "
    "others\n"
    "                             are told and passed over, as the switches that follow:\n"
    "  -C, --disable-cas\n"
    "  -D CHARACTER\n"
    "  -E, --engine=NAME\n"
    "  -f, --slab-growth-factor=FACTOR\n"
    "  -L, --enable-largepages\n"
    "      --memory-file=FILE\n"
    "  -N, --napi-ids=N\n"
    "  -n, --slab-min-size=BYTES\n"
    "  -R, --max-reqs-per-event=N\n"
    "  -W, --disable-watch\n"
    "  -X, --disable-dumping\n"
    "  -d, --daemon               go to the background\n"
    "  -P, --pidfile=FILE         write the process' number there\n"
    "  -v, --verbose              tell of connections, too, -vv of each request; and with -d "
    "write\n"
    "                             the log to the standard error as well\n"
    "  -i, --license              what the program may be used for\n"
    "  -h, --help                 this text\n"
    "  -V, --version              the version\n";

static int bad(const char *what, const char *value, const char *allowed)
{
    fprintf(stderr, "ndb_memcached: wrong value for %s: %s (allowed: %s)\n", what, value, allowed);
    return WRONG;
}

/* 0, or 1: it is no such number. */
static int number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    unsigned long long parsed = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *text == '-') return 1;
    if ((*end == 'k' || *end == 'K') && most > 65535) {
        parsed *= 1024;
        end++;
    } else if ((*end == 'm' || *end == 'M') && most > 65535) {
        parsed *= 1024ull * 1024;
        end++;
    }
    if (*end != 0 || parsed < least || parsed > most) return 1;
    *value = parsed;
    return 0;
}

static bool is_on(const char *value)
{
    return strcmp(value, "on") == 0 || strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
}

/* Names that people bring along from memcached with an engine, and that mean nothing here. */
static bool is_foreign(const char *name)
{
    static const char *const names[] = {"scheduler",   "use_cas",    "factor",
                                        "preallocate", "chunk_size", "config_file"};
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

/* The same as -m, -M, -I and -v. */
static int cache_option(struct mc_options *options, const char *name, const char *value,
                        bool *known)
{
    uint64_t parsed;
    *known = true;
    if (strcmp(name, "cache_size") == 0) {
        if (number(value, 1u << 20, UINT64_C(1) << 44, &parsed) != 0)
            return bad(name, value, "1m to 16777216m");
        options->cache_bytes = parsed;
    } else if (strcmp(name, "item_size_max") == 0) {
        if (number(value, 1024, MC_VALUE_MAX, &parsed) != 0) return bad(name, value, "1k to 1024m");
        options->value_max = (uint32_t)parsed;
    } else if (strcmp(name, "verbose") == 0) {
        if (number(value, 0, MC_VERBOSITY_MAX, &parsed) != 0) return bad(name, value, "0 to 255");
        options->verbose = (uint32_t)parsed;
    } else if (strcmp(name, "debug") == 0) {
        if (is_on(value) && options->verbose < MC_TELL_REQUESTS)
            options->verbose = MC_TELL_REQUESTS;
    } else if (strcmp(name, "eviction") == 0) {
        options->no_eviction = !is_on(value);
    } else {
        *known = false;
    }
    return 0;
}

static int engine_option(struct mc_options *options, const char *name, char *value)
{
    uint64_t parsed;
    bool known;
    int result = cache_option(options, name, value, &known);
    if (known) return result;
    if (strcmp(name, "connectstring") == 0) {
        options->connect_string = value;
    } else if (strcmp(name, "role") == 0) {
        if (strlen(value) >= sizeof options->role) return bad("role", value, "up to 40 bytes");
        strcpy(options->role, value);
    } else if (strcmp(name, "reconf") == 0) {
        options->reconf = is_on(value);
    } else if (strcmp(name, "deadline") == 0) {
        if (number(value, 1, 3600000, &parsed) != 0) return bad("deadline", value, "1 to 3600000");
        options->deadline_ms = (uint32_t)parsed;
    } else if (is_foreign(name)) {
        fprintf(stderr, "ndb_memcached: -e %s means nothing here and is passed over\n", name);
    } else {
        fprintf(stderr, "ndb_memcached: -e knows no %s\n", name);
        return WRONG;
    }
    return 0;
}

/* Changes `text`, which stays: values point into it. */
static int engine_options(struct mc_options *options, char *text)
{
    char *rest;
    for (char *item = strtok_r(text, ";", &rest); item != NULL; item = strtok_r(NULL, ";", &rest)) {
        char *equal = strchr(item, '=');
        if (equal == NULL) return bad("-e", item, "name=value;...");
        *equal = 0;
        int result = engine_option(options, item, equal + 1);
        if (result != 0) return result;
    }
    return 0;
}

/* Refused at once: no server is ever found at such an address. */
static int check_connect_string(const struct mc_options *options)
{
    const char *environment = getenv("NDB_CONNECTSTRING");
    const char *given = options->connect_string == environment ? NULL : options->connect_string;
    char why[256];
    if (ndb_mgm_check_connectstring(given, "-e connectstring", why, sizeof(why)) == 0) return 0;
    fprintf(stderr, "ndb_memcached: %s\n", why);
    return WRONG;
}

static int protocol(struct mc_options *options, const char *name)
{
    if (strcmp(name, "auto") == 0) {
        options->only = MC_META;
    } else if (strcmp(name, "ascii") == 0) {
        options->only = MC_TEXT;
    } else if (strcmp(name, "binary") == 0) {
        options->only = MC_BINARY;
    } else {
        return bad("-B", name, "ascii, binary, auto");
    }
    return 0;
}

static int one_number(struct mc_options *options, int option, const char *text)
{
    uint64_t value;
    switch (option) {
    case 'p':
    case 'U':
        if (number(text, 0, 65535, &value) != 0)
            return bad(option == 'p' ? "-p" : "-U", text, "0 to 65535");
        *(option == 'p' ? &options->tcp_port : &options->udp_port) = (uint16_t)value;
        return 0;
    case 't':
        if (number(text, 1, MC_WORKERS_MAX, &value) != 0) return bad("-t", text, "1 to 64");
        options->threads = (uint32_t)value;
        return 0;
    case 'c':
        if (number(text, 1, 1000000, &value) != 0) return bad("-c", text, "1 to 1000000");
        options->connections = (uint32_t)value;
        return 0;
    case 'b':
        if (number(text, 1, 1000000, &value) != 0) return bad("-b", text, "1 to 1000000");
        options->backlog = (uint32_t)value;
        return 0;
    case 'm':
        if (number(text, 1, 1u << 24, &value) != 0)
            return bad("-m", text, "1 to 16777216 megabytes");
        options->cache_bytes = value << 20;
        return 0;
    default:
        if (number(text, 1024, MC_VALUE_MAX, &value) != 0) return bad("-I", text, "1k to 1024m");
        options->value_max = (uint32_t)value;
        return 0;
    }
}

static int mode(struct mc_options *options, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 8);
    if (end == text || *end != '\0' || *text == '-' || value > 0777)
        return bad("-a", text, "0 to 777, octal");
    options->unix_mask = (uint32_t)value;
    return 0;
}

/* Each -l adds addresses. */
static int listen_at(struct mc_options *options, const char *text)
{
    size_t room = strlen(text) + 2 + (options->listen == NULL ? 0 : strlen(options->listen));
    char *all = malloc(room);
    if (all == NULL) return WRONG;
    snprintf(all, room, "%s%s%s", options->listen == NULL ? "" : options->listen,
             options->listen == NULL ? "" : ",", text);
    free(options->listen);
    options->listen = all;
    return 0;
}

/* A switch of memcached's that has nothing to set here. */
static int nothing(int option)
{
    char name[3] = {'-', (char)option, '\0'};
    mc_options_passed_over(option == OPTION_MEMORY_FILE ? "--memory-file" : name);
    return 0;
}

/* A flat table: what each switch sets. */
static int one(struct mc_options *options, int option, char *text)
{
    switch (option) {
    case 'p':
    case 'U':
    case 't':
    case 'b':
    case 'c':
    case 'm':
    case 'I':
        return one_number(options, option, text);
    case 's':
        options->unix_path = text;
        return 0;
    case 'a':
        return mode(options, text);
    case 'l':
        return listen_at(options, text);
    case 'M':
        options->no_eviction = true;
        return 0;
    case 'v':
        options->verbose++;
        return 0;
    case 'r':
        options->core_files = true;
        return 0;
    case 'k':
        options->lock_memory = true;
        return 0;
    case 'u':
        options->user = text;
        return 0;
    case 'P':
        options->pid_file = text;
        return 0;
    case 'd':
        options->daemonize = true;
        return 0;
    case 'S':
        options->sasl = true;
        return 0;
    case 'Y':
        options->auth_file = text;
        return 0;
    case 'Z':
        options->tls = true;
        return 0;
    case 'A':
        options->shutdown_allowed = true;
        return 0;
    case 'B':
        return protocol(options, text);
    case 'e':
        return engine_options(options, text);
    case 'F':
        options->flush_disabled = true;
        return 0;
    case 'o':
        return mc_options_extended(options, text) == 0 ? 0 : WRONG;
    case OPTION_CHAIN:
        options->tls_chain = text;
        return 0;
    case OPTION_KEY:
        options->tls_key = text;
        return 0;
    case OPTION_BOOTSTRAP:
        options->bootstrap = true;
        return 0;
    case 'h':
        (void)fputs(help, stdout);
        return ENDED;
    case 'V':
        printf("ndb_memcached %s\n", MC_VERSION_TEXT);
        return ENDED;
    case 'i':
        (void)puts("GNU General Public License, version 2 only");
        return ENDED;
    case '?':
        return WRONG;
    default:
        return nothing(option);
    }
}

static int parse(struct mc_options *options, int argc, char **argv)
{
    static char name[] = "ndb_memcached"; /* getopt's messages name the program without a path. */
    int option;
    const char *environment = getenv("NDB_CONNECTSTRING");

    if (argc > 0) argv[0] = name;
    *options = (struct mc_options){.tcp_port = 11211,
                                   .unix_mask = 0700,
                                   .connections = 1024,
                                   .backlog = 1024,
                                   .threads = 4,
                                   .cache_bytes = 64u << 20,
                                   .value_max = 1u << 20,
                                   .only = MC_META,
                                   .connect_string = environment == NULL ? "" : environment,
                                   .role = "default_role",
                                   .reconf = true};
    while ((option = getopt_long(argc, argv,
                                 "p:U:s:a:l:t:c:b:m:MI:vrkLu:P:dSY:ZAB:e:E:Fo:if:n:D:R:CXWN:hV",
                                 long_options, NULL)) != -1) {
        int result = one(options, option, optarg);
        if (result != 0) return result;
    }
    if (optind < argc) {
        fprintf(stderr, "ndb_memcached: takes no argument: '%s'\n", argv[optind]);
        return WRONG;
    }
    bool reachable = options->tcp_port != 0 || options->udp_port != 0 || options->unix_path != NULL;
    if (!reachable && !options->bootstrap) {
        fprintf(stderr, "ndb_memcached: -p 0 without -U or -s: nobody could connect\n");
        return WRONG;
    }
    if (options->tls && (options->tls_chain == NULL || options->tls_key == NULL)) {
        fprintf(stderr, "ndb_memcached: -Z needs --ssl-chain-cert and --ssl-key\n");
        return WRONG;
    }
    return check_connect_string(options);
}

int mc_options_parse(struct mc_options *options, int argc, char **argv)
{
    int result = parse(options, argc, argv);
    if (result == WRONG) fputs("Try 'ndb_memcached --help' for the options.\n", stderr);
    return result;
}
