/* mc_options.h -- what the command line says, and who reads it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "servers/memcached/mc_request.h"

#define MC_WORKERS_MAX 64u
#define MC_PATH_MAX    108u /* Bytes of a UNIX socket's path with its end. */

struct mc_options {
    char *listen;               /* -l: addresses, by commas; NULL: all. malloc'ed. */
    uint16_t tcp_port;          /* -p; 0: none */
    uint16_t udp_port;          /* -U; 0: none */
    const char *unix_path;      /* -s: instead of TCP and UDP */
    uint32_t unix_mask;         /* -a */
    uint32_t connections;       /* -c */
    uint32_t backlog;           /* -b */
    bool core_files;            /* -r */
    bool lock_memory;           /* -k */
    uint32_t threads;           /* -t */
    uint64_t cache_bytes;       /* -m */
    uint32_t value_max;         /* -I */
    bool no_eviction;           /* -M */
    uint32_t verbose;           /* -v, -vv: at the beginning */
    const char *user;           /* -u */
    const char *pid_file;       /* -P */
    bool daemonize;             /* -d */
    bool sasl;                  /* -S */
    const char *auth_file;      /* -Y */
    bool tls;                   /* -Z */
    const char *tls_chain;      /* --ssl-chain-cert */
    const char *tls_key;        /* --ssl-key */
    bool shutdown_allowed;      /* -A */
    bool flush_disabled;        /* -F */
    enum mc_protocol only;      /* -B: MC_META stands for "auto". */
    bool bootstrap;             /* --bootstrap: makes the tables, and ends. */
    const char *connect_string; /* -e, or NDB_CONNECTSTRING; "": neither. */
    char role[41];
    bool reconf;          /* -e: the server looks for changes of the configuration. */
    uint32_t deadline_ms; /* -e: how long temporary errors are tried again; 0: the default. */
};

/* mc_options.c: 0, or the exit code + 1. */
int mc_options_parse(struct mc_options *options, int argc, char **argv);

/* mc_options_foreign.c: says that a switch of memcached's, or an option of one, is none here. */
void mc_options_passed_over(const char *what);
/* -o: changes `text`, which stays. 0, or -1 after a line of what is wrong. */
int mc_options_extended(struct mc_options *options, char *text);
