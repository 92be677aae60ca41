/* errors_page.c -- writes docs/errors.md: error codes with cause and cure, exit codes of data
 * nodes. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "docs/generate/wrap.h"
#include "ndb/mgm.h"

enum class_number {
#define NDB_ERROR_CLASS(code, number, status, name) CLASS_##code = number,
#include "ndb/error_classes.def"
#undef NDB_ERROR_CLASS
};

#define STATUS_SUCCESS   ""
#define STATUS_TEMPORARY "temporary"
#define STATUS_PERMANENT "permanent"
#define STATUS_UNKNOWN   "unknown result"

static const struct {
    const char *status;
    const char *name;
} classes[] = {
#define NDB_ERROR_CLASS(code, number, status, name) [number] = {STATUS_##status, name},
#include "ndb/error_classes.def"
#undef NDB_ERROR_CLASS
};

struct error {
    uint32_t number;
    uint32_t class;
    const char *text;
};

static const struct error errors[] = {
#define NDB_ERROR(number, name, class, text) {number, CLASS_##class, text},
#include "ndb/errors.def"
#undef NDB_ERROR
};
#define ERRORS (sizeof(errors) / sizeof(errors[0]))

struct help {
    uint32_t number;
    const char *cause;
    const char *cure;
};

static const struct help helps[] = {
#define NDB_ERROR_HELP(number, cause, cure) {number, cause, cure},
#include "ndb/errors_help.def"
#undef NDB_ERROR_HELP
};
#define HELPS (sizeof(helps) / sizeof(helps[0]))

static const struct {
    uint32_t number;
    const char *class;
    const char *text;
} exits[] = {
#define EXIT_CODE(number, name, class, text) {number, class, text},
#include "kernel/exit_codes.def"
#undef EXIT_CODE
};

/* A part has the numbers from its `first` on, to that of the next part. */
static const struct {
    uint32_t first;
    const char *title;
} parts[] = {
    {1, "Transactions and scans (200 to 499)"},
    {600, "Rows and their keys (600 to 699)"},
    {700, "Tables and their definitions (700 to 799)"},
    {800, "Rows, indexes, memory (800 to 999)"},
    {1200, "Data nodes under load (1200 to 1299)"},
    {1700, "Registration of clients (1700 to 1799)"},
    {2800, "Files of data nodes (2800 to 2899)"},
    {4000, "Client library (4000 to 4999)"},
    {5000, "Orders of the operator (5000 to 5999)"},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static const char intro[] =
    "# Errors\n\n"
    "This page is made from `include/ndb/errors.def`, `include/ndb/errors_help.def` and "
    "`kernel/exit_codes.def`: "
    "`build/bin/errors_page > docs/errors.md`. `ndb_perror 266` prints the same about one "
    "number.\n\n"
    "What a program does about an error follows from its status (`ndb_error_t.status`), not from "
    "its number:\n\n"
    "- **temporary**: nothing has happened; the same transaction may succeed when it is tried "
    "again, after a pause. `ndb_run_transaction()` does that.\n"
    "- **permanent**: nothing has happened, and trying again will not help. One number tells of a "
    "transaction that has been committed: 4115.\n"
    "- **unknown result**: the transaction may have been committed or not; read to find out.\n\n"
    "Numbers from 6000 to 6999 are the application's own: its programs and filters refuse rows "
    "with them (`ndb_program_refuse()`).\n";

static const struct help *help_of(uint32_t number)
{
    for (size_t i = 0; i < HELPS; i++) {
        if (helps[i].number == number) return &helps[i];
    }
    return NULL;
}

static void print_error(const struct error *error, const struct help *help)
{
    print_wrapped("\n### %u\n\n%s.\n*%s, %s.*\n\n- Cause: %s\n- Cure: %s\n", error->number,
                  error->text, classes[error->class].status, classes[error->class].name,
                  help->cause, help->cure);
}

static void print_errors(void)
{
    size_t part = 0;

    for (size_t i = 0; i < ERRORS; i++) {
        const struct help *help = help_of(errors[i].number);
        if (help == NULL) continue;
        bool begins = false;
        while (part < PARTS && errors[i].number >= parts[part].first) {
            part++;
            begins = true;
        }
        if (begins) printf("\n## %s\n", parts[part - 1].title);
        print_error(&errors[i], help);
    }
}

/* Numbers of the management client (ndb/mgm.h): what a console or a program says of an order as a
 * whole; the line below it says why. */
static const struct help orders[] = {
#define MGM_HELP(number, cause, cure) {number, cause, cure},
#include "ndb/mgm_help.def"
#undef MGM_HELP
};

static void print_orders(void)
{
    print_wrapped("\n## Numbers of the management client\n\n"
                  "Consoles and programs print them for an order as a whole. They are a list of "
                  "their own (`ndb/mgm.h`).\n\n"
                  "| code | text | cause | cure |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
        printf("| %u | %s | %s | %s |\n", orders[i].number,
               ndb_mgm_error_message((int)orders[i].number), orders[i].cause, orders[i].cure);
}

static void print_exits(void)
{
    print_wrapped(
        "\n## Exit codes of data nodes\n\n"
        "Why an `ndbmtd` has stopped by itself: the last lines of its log and the cluster "
        "log name the number. The text says what happened and what to do next.\n\n"
        "| code | kind | what happened; what to do |\n| --- | --- | --- |\n");
    for (uint32_t last = 0;;) { /* In ascending order, which the list is not everywhere. */
        size_t next = SIZE_MAX;
        for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
            if (exits[i].number <= last) continue;
            if (next == SIZE_MAX || exits[i].number < exits[next].number) next = i;
        }
        if (next == SIZE_MAX) return;
        last = exits[next].number;
        printf("| %u | %s | %s |\n", last, exits[next].class, exits[next].text);
    }
}

static void print_others(void)
{
    print_wrapped("\n## Numbers that nothing raises\n\n"
                  "They are numbers of the field that `ndb_perror` explains, because logs and "
                  "programs of other systems name them. No part of this version raises them.\n\n"
                  "| code | status | text |\n| --- | --- | --- |\n");
    for (size_t i = 0; i < ERRORS; i++) {
        if (errors[i].number == 0 || help_of(errors[i].number) != NULL) continue;
        printf("| %u | %s | %s |\n", errors[i].number, classes[errors[i].class].status,
               errors[i].text);
    }
}

int main(void)
{
    print_wrapped("%s", intro);
    print_errors();
    print_orders();
    print_exits();
    print_others();
    return ferror(stdout) != 0 || fflush(stdout) != 0;
}
