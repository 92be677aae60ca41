/* tool_common.h -- what all client tools share: options, connecting, error lines, exit codes. */
/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tool is a struct tool_program and settings that begin with a struct tool; its main() is
 * tool_main(). One that does something before it connects has tool_argp as a child parser (see
 * tool_option()), and calls tool_init, argp_parse, tool_connect, ..., tool_close itself. Exit codes
 * of all tools: 0 done, 1 failed, 2 wrong arguments; ndb_waiter also 3, not connected.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "ndb/mgm.h"
#include "ndb/ndb.h"

enum tool_exit { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2, TOOL_NOT_CONNECTED = 3 };

#define TOOL_DATABASE   "test"    /* The database of tables that are named without one. */
#define TOOL_ELSE       "TEST_DB" /* Where such a table is looked for if it is not in that one. */
#define TOOL_TIMEOUT_MS 30000u    /* Limit of dictionary calls, and of each fetch of a scan. */
#define TOOL_READY_MS   30000u    /* Longest wait for the data nodes. */
#define TOOL_RETRIES    100       /* So often a call is tried again after temporary errors. */
#define TOOL_RETRY_MS   50        /* The pause before each of these tries. */
#define TOOL_KEY_OWN    0x1000    /* Option keys of a tool's own parser start here. */

enum tool_format { TOOL_TEXT, TOOL_JSON };

/* What a tool is: what --help says, its own options, and what it does. */
struct tool_program {
    const char *name, *doc;
    const char *arguments;             /* "TABLE..."; NULL: it takes none. */
    const char *needed;                /* What is to be given when there are none; NULL: nothing. */
    const struct argp_option *options; /* The tool's own; NULL: none. */
    argp_parser_t option; /* Takes these, with the tool's settings; the rest is tool_option()'s. */
    /* One of the two. `run` is connected to the cluster and gets its arguments alone; `ask` has a
       handle for management servers that is not connected. They return the exit code. */
    int (*run)(void *settings, int argc, char **argv);
    int (*ask)(void *settings, ndb_mgm_handle_t *handle);
};

struct tool {
    const struct tool_program *program; /* NULL: it has a main() of its own. */
    int first;                          /* Its first argument in argv. */
    const char *name;                   /* The tool's name, also as the cluster shows it. */
    const char *connect_string;
    const char *database;
    bool database_given; /* --database was given: no other one is looked at. */
    uint32_t node_id;
    int retries; /* -1: for ever. */
    uint32_t delay_s;
    enum tool_format format;
    struct ndb_cluster_connection *connection;
    ndb_t *ndb;
};

/* Common options as a child parser; its input is the struct tool. */
extern const struct argp tool_argp;

/* main() of a tool; `settings` begins with its struct tool and has its defaults. */
int tool_main(const struct tool_program *program, void *settings, int argc, char **argv);
/* What a tool's parser does with keys that are not its own options; state->input begins with its
 * struct tool. */
error_t tool_option(int key, char *argument, struct argp_state *state);

/* Defaults; argp's exit code and version; program_begin(). First in main(). What is left of argv's
 * elements when those are taken out that mean nothing here. */
int tool_init(struct tool *tool, const char *name, int argc, char **argv);
/* Connects, waits for data nodes, opens tool->ndb. What is waited for longer than a second is told
 * on standard error. False: the reason is there, too. */
bool tool_connect(struct tool *tool);
/* Connects to a management server with the tool's options, as tool_connect() does, but tries no
 * longer than `limit_ms` (0: once; NDB_NO_TIMEOUT: the options' limit counts). */
bool tool_connect_mgm(const struct tool *tool, ndb_mgm_handle_t *handle, uint32_t limit_ms);
/* The connect string that is in use. */
const char *tool_servers(const struct tool *tool);
/* Closes everything and gives back `code`, or 1 if standard output could not be written. */
int tool_close(struct tool *tool, int code);

/* "<code>: <message>[: detail]" on standard error. */
void tool_print_error(const ndb_error_t *error);
/* The same of a statement, with the place and the line where it is wrong. `statement` stands in
 * `all`, which the line and the column are counted from; `where` says where in it. */
void tool_print_sql_error(const ndb_error_t *error, const struct ndb_sql_error *where,
                          const char *all, const char *statement);
/* One number of an option; a wrong one ends the program with exit code 2. */
uint64_t tool_number(const char *text, uint64_t min, uint64_t max, const char *option,
                     struct argp_state *state);
/* The lock mode that --lock=0|1|2 names; a wrong one ends the program likewise. */
enum ndb_lock_mode tool_lock_mode(const char *text, struct argp_state *state);
/* "table" gets the tool's database, "database/table" and "database.table" name it. Into `name`.
 * Without --database a table that is in TOOL_ELSE, but not in TOOL_DATABASE, gets that one. */
void tool_table_name(const struct tool *tool, const char *argument, char *name, uint32_t size);
/* Opens a table of the command line or prints why not. */
struct ndb_table *tool_open_table(struct tool *tool, const char *argument);
/* The condition of --where for rows of this table. NULL: it is printed what is wrong with it. */
struct ndb_filter *tool_filter(struct tool *tool, struct ndb_table *table, const char *condition);
/* True after a pause when a call that failed with `error` is worth trying again. */
bool tool_try_again(const ndb_error_t *error, uint32_t *tries);
