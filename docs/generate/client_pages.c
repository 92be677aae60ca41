/* client_pages.c -- writes the manual of the client library, section 3, from the comments of its
 * headers: a page for each section of a header, and one that leads to it for each function. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "docs/generate/header_reader.h"
#include "docs/generate/roff.h"
#include "ndb/mgm.h"
#include "ndb/ndb.h"

enum class_number {
#define NDB_ERROR_CLASS(code, number, status, name) CLASS_##code = number,
#include "ndb/error_classes.def"
#undef NDB_ERROR_CLASS
};

#define STATUS_SUCCESS   ""
#define STATUS_TEMPORARY "Temporary."
#define STATUS_PERMANENT "Permanent."
#define STATUS_UNKNOWN   "The result is unknown."

static const char *const statuses[] = {
#define NDB_ERROR_CLASS(code, number, status, name) [number] = STATUS_##status,
#include "ndb/error_classes.def"
#undef NDB_ERROR_CLASS
};

static const struct {
    uint32_t number;
    uint32_t class;
    const char *text;
} errors[] = {
#define NDB_ERROR(number, name, class, text) {number, CLASS_##class, text},
#include "ndb/errors.def"
#undef NDB_ERROR
};

/* What the sections of the headers are called. A section without a line here is an error. */
static const struct page {
    const char *header;
    const char *title; /* NULL: what stands before the first section, and the whole header. */
    const char *name;
    const char *what;
} pages[] = {
    {"ndb.h", NULL, "ndbclient", "client library of an NDB cluster"},
    {"ndb.h", "Errors", "ndb_errors", "what an error says"},
    {"ndb.h", "Connection", "ndb_connections", "connections of a program to a cluster"},
    {"ndb.h", "ndb_t: one thread's access", "ndb_t", "one thread's access to a cluster"},
    {"ndb.h", "Dictionary", "ndb_dictionary",
     "tables, columns and indexes are made, changed, described and dropped"},
    {"ndb.h", "Which index fits a condition", "ndb_access", "which index fits a condition"},
    {"ndb.h", "Fragments", "ndb_fragments", "fragments of a table, and where they are"},
    {"ndb.h", "Values", "ndb_values", "values of columns from text, to text and compared"},
    {"ndb.h", "Records: where columns stand in the application's rows", "ndb_records",
     "where columns stand in the application's rows"},
    {"ndb.h", "Transactions", "ndb_transactions",
     "transactions and their operations on rows by key"},
    {"ndb.h", "Durability of commits made before", "ndb_durability",
     "waits until commits are on disk"},
    {"ndb.h", "Short forms", "ndb_rows", "one row in one transaction by one call"},
    {"ndb.h", "Numbers for new rows", "ndb_numbers",
     "numbers for new rows, many rows in one call, transactions that are tried again"},
    {"ndb.h", "Asynchronous calls", "ndb_asynchronous",
     "transactions and reads that do not wait, for event loops"},
    {"ndb.h", "Scans", "ndb_scans", "rows of a table, or of ranges of an index"},
    {"program.h", NULL, "ndb_where_rows_are", "programs and filters that run in the data nodes"},
    {"program.h", "Programs: read-modify-write where the row is", "ndb_programs",
     "programs that read, compute and change where the row is"},
    {"program.h", "Filters: which rows are wanted", "ndb_filters", "which rows are wanted"},
    {"mgm.h", NULL, "ndbmgm", "management of an NDB cluster by programs"},
    {"mgm.h", "Handle and connection", "ndb_mgm_handles", "connections to management servers"},
    {"mgm.h", "Configuration and node ids", "ndb_mgm_configuration",
     "configuration and node ids of a cluster"},
    {"mgm.h", "Status and orders", "ndb_mgm_orders", "status of nodes, and orders to them"},
    {"mgm.h", "Cluster log and events", "ndb_mgm_events", "cluster log and events"},
};
#define PAGES (sizeof(pages) / sizeof(pages[0]))

static const char *const header_names[] = {"ndb.h", "program.h", "mgm.h"};
#define HEADERS (sizeof(header_names) / sizeof(header_names[0]))
static struct header headers[HEADERS];

/* The parts of headers, in the order in which these include them. */
static const struct {
    const char *header;
    const char *name;
} parts[] = {
    {"ndb.h", "base.h"},           {"ndb.h", "error.h"},
    {"ndb.h", "connection.h"},     {"ndb.h", "dictionary.h"},
    {"ndb.h", "value.h"},          {"ndb.h", "record.h"},
    {"ndb.h", "transaction.h"},    {"ndb.h", "row.h"},
    {"ndb.h", "async.h"},          {"ndb.h", "scan.h"},
    {"mgm.h", "mgm_base.h"},       {"mgm.h", "mgm_report.h"},
    {"mgm.h", "mgm_connection.h"}, {"mgm.h", "mgm_configuration.h"},
    {"mgm.h", "mgm_order.h"},      {"mgm.h", "mgm_log.h"},
};

static const struct page *page_of_section(const struct header *header,
                                          const struct section *section)
{
    for (size_t i = 0; i < PAGES; i++) {
        const char *title = pages[i].title;
        if (strcmp(pages[i].header, header->name) != 0) continue;
        if (title == section->title) return &pages[i]; /* Both have none. */
        if (title != NULL && section->title != NULL && strcmp(title, section->title) == 0)
            return &pages[i];
    }
    generator_fails(section->title, "this section of a header has no page: name one in pages[]");
}

/* Calls for each declaration of a section. */
typedef void (*declaration_function)(const struct page *page, const struct declaration *declaration,
                                     void *context);
static void each_declaration(const struct page *page, const struct section *section,
                             declaration_function function, void *context)
{
    for (size_t i = 0; i < section->count; i++) {
        for (size_t d = 0; d < section->items[i].count; d++)
            function(page, &section->items[i].declarations[d], context);
    }
}

struct wanted {
    const char *name;
    size_t length;
    const char *page;
};

static void compare_name(const struct page *page, const struct declaration *declaration,
                         void *context)
{
    struct wanted *wanted = context;
    if (declaration->kind == DECLARES_FUNCTION && strlen(declaration->name) == wanted->length &&
        strncmp(declaration->name, wanted->name, wanted->length) == 0)
        wanted->page = page->name;
}

static const char *page_of_function(const char *name, size_t length)
{
    struct wanted wanted = {name, length, NULL};
    for (size_t h = 0; h < HEADERS; h++) {
        for (size_t s = 0; s < headers[h].count && wanted.page == NULL; s++) {
            const struct section *section = &headers[h].sections[s];
            if (section->count > 0)
                each_declaration(page_of_section(&headers[h], section), section, compare_name,
                                 &wanted);
        }
    }
    return wanted.page;
}

static const char *status_of_code(uint32_t code)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].number == code) return statuses[errors[i].class];
    }
    return "";
}

static const char *text_of_code(uint32_t code)
{
    for (size_t i = 0; code != 0 && i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].number == code) return errors[i].text;
    }
    return NULL;
}

static const char *text_of_mgm_code(uint32_t code)
{
    const char *text = text_of_code(code);
    if (text != NULL) return text;
    text = ndb_mgm_error_message((int)code);
    return strcmp(text, ndb_mgm_error_message(-1)) == 0 ? NULL : text;
}

static void print_name(const struct page *page, const struct declaration *declaration,
                       void *context)
{
    (void)page;
    if (declaration->kind == DECLARES_FUNCTION) (void)fprintf(context, ",\n%s", declaration->name);
}

static void print_prototype(const struct page *page, const struct declaration *declaration,
                            void *context)
{
    (void)page;
    if (declaration->kind == DECLARES_FUNCTION) roff_prototype(context, declaration->text);
}

/* Above a comment: what it is about. Functions, if there are any, else types, else macros. */
static void print_heading(struct roff *roff, const struct item *item)
{
    enum declaration_kind kind = DECLARES_MACRO;
    bool first = true;

    if (item->count == 0) return;
    for (size_t d = 0; d < item->count; d++) {
        if (item->declarations[d].kind < kind) kind = item->declarations[d].kind;
    }
    (void)fputs(".SS \"", roff->out);
    for (size_t d = 0; d < item->count; d++) {
        if (item->declarations[d].kind != kind) continue;
        (void)fprintf(roff->out, "%s%s%s", first ? "" : ", ", item->declarations[d].name,
                      kind == DECLARES_FUNCTION ? "()" : "");
        first = false;
    }
    (void)fputs("\"\n", roff->out);
}

static void print_item(struct roff *roff, const struct item *item)
{
    print_heading(roff, item);
    if (item->comment != NULL) roff_comment(roff, item->comment);
    for (size_t d = 0; d < item->count; d++) {
        const struct declaration *declaration = &item->declarations[d];
        if (declaration->kind == DECLARES_TYPE)
            roff_type(roff, declaration->text);
        else if (declaration->kind != DECLARES_FUNCTION)
            roff_code(roff, declaration->text);
    }
}

static int compare_codes(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void print_errors(struct roff *roff)
{
    size_t count = roff->code_count; /* Texts may name others. */
    if (count == 0) return;
    qsort(roff->codes, count, sizeof roff->codes[0], compare_codes);
    (void)fputs(".SH ERRORS\nThe numbers that are named above. Others may come, too.\n", roff->out);
    for (size_t i = 0; i < count; i++) {
        uint32_t code = roff->codes[i];
        char text[512];
        (void)snprintf(text, sizeof text, "%s. %s", roff->error_text(code), status_of_code(code));
        (void)fprintf(roff->out, ".TP\n.B %u\n", code);
        roff_words(roff, text);
    }
}

/* An overview leads to the header's pages, each of these to the overview. */
static void print_others(struct roff *roff, const struct page *page)
{
    bool overview = page->title == NULL;
    const char *separator = "";

    if (overview) {
        (void)fputs(".SH PAGES\n", roff->out);
        for (size_t i = 0; i < PAGES; i++) {
            bool own = strcmp(pages[i].header, page->header) == 0;
            bool included = strcmp(page->header, "ndb.h") == 0 && pages[i].title == NULL;
            if (&pages[i] != page && (own || included))
                (void)fprintf(roff->out, ".TP\n\\fB%s\\fP(3)\n%s\n", pages[i].name, pages[i].what);
        }
        (void)fputs(".PP\nEach function has a page of its name that leads to one of these.\n",
                    roff->out);
    }
    (void)fputs(".SH \"SEE ALSO\"\n", roff->out);
    for (size_t i = 0; i < PAGES; i++) {
        bool own = strcmp(pages[i].header, page->header) == 0;
        if (&pages[i] == page || (pages[i].title != NULL && (overview || !own))) continue;
        (void)fprintf(roff->out, "%s\\fB%s\\fP(3)", separator, pages[i].name);
        separator = ",\n";
    }
    (void)fprintf(roff->out, "%s\\fBndb_perror\\fP(1)\n", separator);
}

static FILE *page_open(const char *directory, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.3", directory, name);
    FILE *out = fopen(path, "wx"); /* Two pages of one name are an error. */
    if (out == NULL) generator_fails(path, "is there already, or cannot be written");
    return out;
}

static void page_close(FILE *out, const char *name)
{
    bool bad = ferror(out) != 0;
    if (fclose(out) != 0 || bad) generator_fails(name, "cannot be written");
}

static void print_alias(const struct page *page, const struct declaration *declaration,
                        void *context)
{
    if (declaration->kind != DECLARES_FUNCTION) return;
    FILE *out = page_open(context, declaration->name);
    (void)fprintf(out, ".so man3/%s.3\n", page->name);
    page_close(out, declaration->name);
}

static void print_synopsis(struct roff *roff, const struct page *page,
                           const struct section *section)
{
    (void)fprintf(roff->out, ".SH SYNOPSIS\n.B #include <ndb/%s>\n", page->header);
    each_declaration(page, section, print_prototype, roff);
    if (page->title == NULL)
        (void)fputs(".PP\n.B cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs ndbclient)\n"
                    ".PP\n.B find_package(ndbclient 1.0 REQUIRED)\n.br\n"
                    ".B target_link_libraries(program PRIVATE ndb::ndbclient)\n",
                    roff->out);
}

static void page_print(const struct header *header, const struct section *section,
                       const char *directory)
{
    const struct page *page = page_of_section(header, section);
    bool mgm = strcmp(header->name, "mgm.h") == 0;
    struct roff roff = {.out = page_open(directory, page->name),
                        .page = page->name,
                        .page_of = page_of_function,
                        .error_text = mgm ? text_of_mgm_code : text_of_code};

    (void)fprintf(roff.out,
                  ".\\\" %s.3 -- %s. Made from include/ndb/%s.\n"
                  ".\\\" SPDX-License-Identifier: MIT\n.TH ",
                  page->name, page->what, page->header);
    for (const char *c = page->name; *c != '\0'; c++)
        (void)fputc(toupper((unsigned char)*c), roff.out);
    (void)fprintf(roff.out,
                  " 3 \"\" \"ndb %s\" \"Client library\"\n.nr HY 0\n.nh\n.ad l\n.SH NAME\n%s",
                  NDB_CLIENT_VERSION_STRING, page->name);
    each_declaration(page, section, print_name, roff.out);
    (void)fprintf(roff.out, " \\- %s\n", page->what);
    print_synopsis(&roff, page, section);
    (void)fputs(".SH DESCRIPTION\n", roff.out);
    if (page->title == NULL)
        roff_comment(&roff, header->comment);
    else
        (void)fprintf(roff.out, "What holds for all functions stands in \\fB%s\\fP(3).\n",
                      mgm ? "ndbmgm" : "ndbclient");
    for (size_t i = 0; i < section->count; i++)
        print_item(&roff, &section->items[i]);
    print_errors(&roff);
    print_others(&roff, page);
    page_close(roff.out, page->name);
    each_declaration(page, section, print_alias, (void *)(uintptr_t)directory);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fputs("usage: client_pages HEADERS DIRECTORY, which is empty\n", stderr);
        return 2;
    }
    for (size_t h = 0; h < HEADERS; h++) {
        header_read(&headers[h], argv[1], header_names[h]);
        for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
            if (strcmp(parts[p].header, header_names[h]) == 0)
                header_part_read(&headers[h], argv[1], parts[p].name);
        }
    }
    for (size_t h = 0; h < HEADERS; h++) {
        for (size_t s = 0; s < headers[h].count; s++)
            page_print(&headers[h], &headers[h].sections[s], argv[2]);
    }
    return 0;
}
