/* ndb_redo_log_reader.c -- prints and verifies files of a data node's redo log. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* Needs no cluster. The node may run: what it is writing shows as damaged pages. */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/redo_format.h"
#include "tools/file_tool.h"

enum key { KEY_RECORDS = 0x1000, KEY_CHECK, KEY_FORMAT };

struct reader {
    bool records;
    bool check;
    bool json;
    char **files;
    int file_count;
    uint32_t faults;
    uint32_t pages;
    uint64_t record_count;
};

static const struct argp_option options[] = {
    {"check", KEY_CHECK, NULL, 0, "Print damaged pages and the sum only", 0},
    {"records", KEY_RECORDS, NULL, 0, "Print each record", 0},
    {"format", KEY_FORMAT, "text|json", 0, "One JSON object per line, or text (default)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct reader *reader = state->input;
    switch (key) {
    case KEY_CHECK:
        reader->check = true;
        return 0;
    case KEY_RECORDS:
        reader->records = true;
        return 0;
    case KEY_FORMAT:
        reader->json = strcmp(arg, "json") == 0;
        if (!reader->json && strcmp(arg, "text") != 0)
            argp_error(state, "--format must be text or json, not '%s'", arg);
        return 0;
    case ARGP_KEY_ARGS:
        reader->files = state->argv + state->next;
        reader->file_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a file, or several");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_page(const struct reader *reader, const char *name,
                       const struct redo_page_head *head, bool next)
{
    if (reader->check) return;
    const char *form = reader->json
                           ? "{\"page\":{\"file\":\"%s\",\"block\":%u,\"lsn\":%llu,\"incarnation\":"
                             "%u,\"words\":%u,\"first\":%u,"
                             "\"gci_before\":%u,\"gci_max\":%u,\"synced\":%llu,\"continues\":%s}}\n"
                           : "%s block %u: page %llu, incarnation %u, %u words, first record at "
                             "%u, GCI %u..%u, durable up to "
                             "page %llu, continues: %s\n";
    printf(form, name, head->block, (unsigned long long)redo_lsn(head), head->incarnation,
           head->words, head->first, head->gci_before, head->gci_max,
           (unsigned long long)redo_synced(head), next ? "true" : "false");
}

static void print_record(const struct reader *reader, const struct redo_record *record)
{
    static const char *const kinds[] = {
        [REDO_INSERT] = "insert", [REDO_UPDATE] = "update", [REDO_DELETE] = "delete"};
    const char *form =
        reader->json
            ? "{\"record\":{\"kind\":\"%s\",\"table\":%u,\"version\":%u,\"fragment\":%u,\"gci\":%u,"
              "\"micro_epoch\":%u,\"life\":%u,\"row\":%u,\"hash\":%u,\"words\":%u}}\n"
            : "    %s table %u version %u fragment %u, epoch %u/%u of life %u, row %u, hash %u, %u "
              "words\n";
    printf(form, kinds[record->kind], record->table_id, record->version, record->fragment_id,
           record->gci_hi, record->gci_lo & 0xFFFFu, record->gci_lo >> 16, record->row,
           record->hash, record->pair_words);
}

static void print_fault(struct reader *reader, const char *name, uint32_t block, const char *what)
{
    reader->faults++;
    printf(reader->json ? "{\"damage\":{\"file\":\"%s\",\"offset\":%llu,\"kind\":\"%s\"}}\n"
                        : "%s offset %llu: %s\n",
           name, (unsigned long long)block * REDO_BLOCK_BYTES, what);
}

/* False: the records of the page are malformed. */
static bool read_records(struct reader *reader, struct redo_reader *records, const uint32_t *page)
{
    struct redo_record record;
    int more;
    if (!redo_reader_page(records, page)) return false;
    while ((more = redo_reader_next(records, &record)) == 1) {
        reader->record_count++;
        if (reader->records) print_record(reader, &record);
    }
    return more == 0;
}

/* False: there is something in the file, and no page of a redo log, whole or damaged. */
static bool read_pages(struct reader *reader, const char *name, const uint32_t *words,
                       uint32_t blocks)
{
    static struct redo_reader records;
    struct redo_chain chain = {.lsn = 0};
    bool in_damage = false;
    bool strange = false;
    bool page_seen = false;
    for (uint32_t block = 0; block < blocks;) {
        const uint32_t *page = words + (size_t)block * REDO_BLOCK_WORDS;
        struct redo_page_head head;
        memcpy(&head, page, sizeof head);
        const struct redo_place place = {.file = head.file, .block = block};
        enum redo_fault fault = redo_page_verify(page, (blocks - block) * REDO_BLOCK_WORDS, &place);
        if (fault != REDO_GOOD) {
            /* A page that begins damaged is told once, not for each of its blocks; former laps
             * leave halves behind. */
            char text[REDO_FAULT_SIZE];
            redo_fault_say(fault, head.version, text);
            if (fault != REDO_EMPTY && fault != REDO_NO_PAGE && !in_damage)
                print_fault(reader, name, block, text);
            strange = strange || fault == REDO_NO_PAGE;
            page_seen = page_seen || (fault != REDO_EMPTY && fault != REDO_NO_PAGE);
            in_damage = fault != REDO_EMPTY;
            block++;
            continue;
        }
        in_damage = false;
        page_seen = true;
        bool next = redo_chain_next(&chain, &head);
        if (!next) {
            chain = redo_chain_at(&head);
            redo_reader_init(&records);
        }
        reader->pages++;
        print_page(reader, name, &head, next);
        if (!read_records(reader, &records, page)) {
            print_fault(reader, name, block, redo_fault_name(REDO_BAD_RECORD));
            redo_reader_init(&records);
        }
        block += redo_blocks(head.words);
    }
    return page_seen || !strange;
}

static bool read_file(struct reader *reader, const char *name)
{
    size_t size;
    uint8_t *bytes = file_tool_read(name, 0, &size);
    if (bytes == NULL) return false;
    uint32_t blocks = (uint32_t)(size / REDO_BLOCK_BYTES);
    bool redo = read_pages(reader, name, (const uint32_t *)(const void *)bytes, blocks);
    if (!redo || size < REDO_BLOCK_BYTES)
        print_fault(reader, name, 0, "no file of a redo log: it has none of its pages");
    else if (size % REDO_BLOCK_BYTES != 0)
        print_fault(reader, name, blocks, "file is cut off");
    free(bytes);
    return true;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        options,
        parse,
        "FILE...",
        "Prints and verifies files of the redo log (REDO/part<n>/file<n> of a data node). Give the "
        "files of a part in "
        "their order. After a crash the last page may be damaged: it was not durable.\vExit code "
        "0: all pages are good; "
        "1: damaged pages, or a file could not be read; 2: wrong arguments.",
        NULL,
        NULL,
        NULL};
    struct reader reader = {0};
    bool good = true;
    file_tool_begin(argv);
    argp_parse(&argp, argc, argv, 0, NULL, &reader);
    for (int i = 0; i < reader.file_count; i++)
        good = read_file(&reader, reader.files[i]) && good;
    printf(reader.json ? "{\"sum\":{\"pages\":%u,\"records\":%llu,\"damaged\":%u}}\n"
                       : "%u pages, %llu records, %u damaged\n",
           reader.pages, (unsigned long long)reader.record_count, reader.faults);
    return good && reader.faults == 0 ? 0 : 1;
}
