/* ndb_lcp_reader.c -- prints and verifies files of local checkpoints. */
/* SPDX-License-Identifier: GPL-2.0-only */
/* Needs no cluster. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/lcp_list.h"
#include "formats/lcp_stream.h"
#include "tools/file_tool.h"

#define READ_BYTES 65536u

enum key { KEY_ROWS = 0x1000, KEY_CHECK };

struct tool {
    bool rows;
    bool check;
    char **files;
    int file_count;
    uint32_t faults;
};

static const struct argp_option options[] = {
    {"check", KEY_CHECK, NULL, 0, "Print damage only", 0},
    {"rows", KEY_ROWS, NULL, 0,
     "Print each page, row (page, slot, GCI, words), and slots whose rows are in older files", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tool *tool = state->input;
    (void)arg;
    switch (key) {
    case KEY_CHECK:
        tool->check = true;
        return 0;
    case KEY_ROWS:
        tool->rows = true;
        return 0;
    case ARGP_KEY_ARGS:
        tool->files = state->argv + state->next;
        tool->file_count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a file, or several");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void fault_print(struct tool *tool, const char *name, uint64_t offset, const char *text)
{
    file_tool_fault(name, offset, text);
    tool->faults++;
}

static void head_fault_print(struct tool *tool, const char *name, uint64_t offset,
                             enum lcp_fault fault, uint32_t format)
{
    char text[LCP_FAULT_SIZE];
    lcp_fault_say(fault, format, text);
    fault_print(tool, name, offset, text);
}

static void ident_print(const char *name, const char *kind, const struct lcp_ident *ident)
{
    printf("%s: %s, cluster %016llx, node %u, table %u version %u, fragment %u", name, kind,
           (unsigned long long)u64_of(ident->cluster_lo, ident->cluster_hi), ident->node,
           ident->table, ident->version, ident->fragment);
}

static void ctl_read(struct tool *tool, const char *name, FILE *file)
{
    struct lcp_ctl ctl;
    size_t size = fread(&ctl, 1, sizeof ctl, file);
    if (size < sizeof ctl || fgetc(file) != EOF) {
        fault_print(tool, name, size, lcp_fault_text(size < sizeof ctl ? LCP_TRUNCATED : LCP_TAIL));
        return;
    }
    enum lcp_fault fault = lcp_ctl_check(&ctl, NULL, ctl.number % 2u);
    if (fault != LCP_GOOD) {
        head_fault_print(tool, name, 0, fault, ctl.format);
        return;
    }
    if (tool->check) return;
    ident_print(name, "control", &ctl.ident);
    printf(", number %u, checkpoint %u, GCI %u..%u, %u pages, log's life %06x\n", ctl.number,
           ctl.lcp_id, ctl.start_gci, ctl.end_gci, ctl.pages, ctl.life);
    for (uint32_t i = 0; i < ctl.file_count; i++) {
        const struct lcp_ctl_file *data = &ctl.file[i];
        printf("  file %u: %s, GCI %u, %u blocks, %u pages, of %u changed rows only, %llu rows, "
               "%llu bytes\n",
               data->seq, data->which == 255 ? "all pages" : "changed pages and an eighth",
               data->start_gci, data->blocks, data->pages, data->deltas,
               (unsigned long long)u64_of(data->rows_lo, data->rows_hi),
               (unsigned long long)u64_of(data->bytes_lo, data->bytes_hi));
    }
}

/* The list of an LDM's checkpoints. */
static void part_read(struct tool *tool, const char *name, FILE *file)
{
    struct lcp_part part;
    size_t size;
    uint32_t block = 0;
    uint32_t blocks = 0;
    for (; (size = fread(&part, 1, sizeof part, file)) == sizeof part; block++) {
        enum lcp_fault fault = lcp_part_check(&part, NULL, 0, part.number % 2u, block);
        if (fault != LCP_GOOD) {
            head_fault_print(tool, name, (uint64_t)block * sizeof part, fault, part.format);
            return;
        }
        blocks = part.blocks;
        if (tool->check) continue;
        if (block == 0)
            printf("%s: list, cluster %016llx, node %u, LDM %u, number %u, checkpoint %u, log from "
                   "GCI %u, of life %06x\n",
                   name, (unsigned long long)u64_of(part.cluster_lo, part.cluster_hi), part.node,
                   part.instance, part.number, part.lcp_id, part.tail_gci, lcp_part_life(&part));
        for (uint32_t i = 0; i < part.count; i++)
            printf("  table %u version %u, fragment %u: control file %u, %u KB\n",
                   part.entry[i].place >> 16, part.entry[i].version, part.entry[i].place & 0xFFFFu,
                   part.entry[i].number, part.entry[i].kbytes);
    }
    if (size != 0 || block != blocks)
        fault_print(tool, name, (uint64_t)block * sizeof part,
                    lcp_fault_text(block < blocks ? LCP_TRUNCATED : LCP_TAIL));
}

/* The slots whose rows are in older files. */
static void kept_print(const struct lcp_item *item)
{
    uint32_t kept = 0;
    printf("  page %u: in older files slots", item->page);
    for (uint32_t slot = 0; slot < item->words * 32u; slot++) {
        if ((item->pairs[slot / 32u] >> slot % 32u & 1u) == 0) continue;
        printf(" %u", slot);
        kept++;
    }
    printf("%s\n", kept == 0 ? ": none" : "");
}

static enum lcp_fault rows_walk(const struct tool *tool, struct lcp_cursor *cursor)
{
    struct lcp_item item;
    enum lcp_fault fault;
    while (lcp_cursor_next(cursor, &item, &fault)) {
        if (!tool->rows || tool->check) continue;
        if (item.is_kept)
            kept_print(&item);
        else if (item.is_page && !item.more)
            printf("  page %u: %s\n", item.page, item.delta ? "changed rows" : "all rows");
        else if (!item.is_page)
            printf("  page %u slot %u: GCI %u, %u words\n", item.page, item.slot, item.gci,
                   item.words);
    }
    return fault;
}

/* Feeds the bytes of one read. False after a fault. */
static bool bytes_take(struct tool *tool, const char *name, struct lcp_reader *reader,
                       const uint8_t *bytes, uint32_t size)
{
    for (;;) {
        enum lcp_fault fault = LCP_GOOD;
        enum lcp_read_event event = lcp_reader_next(reader, &bytes, &size);
        if (event == LCP_READ_MORE) return true;
        if (event == LCP_READ_FAULT) fault = reader->fault;
        if (event == LCP_READ_ROWS) fault = rows_walk(tool, &reader->cursor);
        if (fault == LCP_GOOD) continue;
        head_fault_print(tool, name, reader->offset, fault, reader->head.format);
        return false;
    }
}

static void data_read(struct tool *tool, const char *name, FILE *file, struct lcp_reader *reader)
{
    static uint8_t bytes[READ_BYTES];
    size_t size;
    lcp_reader_begin(reader);
    while ((size = fread(bytes, 1, sizeof bytes, file)) > 0) {
        if (!bytes_take(tool, name, reader, bytes, (uint32_t)size)) return;
    }
    enum lcp_fault fault = lcp_reader_finish(reader);
    if (ferror(file) || fault != LCP_GOOD) {
        fault_print(tool, name, reader->offset,
                    ferror(file) ? strerror(errno) : lcp_fault_text(fault));
        return;
    }
    if (tool->check) return;
    ident_print(name, "data", &reader->head.ident);
    printf(", file %u, checkpoint %u, GCI %u, %u blocks, %u pages, of %u changed rows only, %llu "
           "rows\n",
           reader->head.seq, reader->head.lcp_id, reader->head.start_gci, reader->blocks,
           reader->cursor.pages, reader->cursor.deltas, (unsigned long long)reader->cursor.rows);
}

static void file_read(struct tool *tool, const char *name, struct lcp_reader *reader)
{
    uint32_t magic = 0;
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        tool->faults++;
        return;
    }
    bool known = fread(&magic, 1, sizeof magic, file) == sizeof magic;
    rewind(file);
    if (known && magic == LCP_CTL_MAGIC)
        ctl_read(tool, name, file);
    else if (known && magic == LCP_PART_MAGIC)
        part_read(tool, name, file);
    else
        data_read(tool, name, file, reader);
    fclose(file);
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE...",
        .doc = "Prints and verifies files of local checkpoints (LCP/*.data, LCP/*.ctl0, "
               "LCP/*.ctl1, of fragments and of LDMs).\vExit code 0: all files are good; 1: a "
               "file is damaged or could not be read; 2: wrong arguments."};
    struct tool tool = {.faults = 0};
    struct lcp_reader reader = {.part = malloc(LCP_PART_MAX), .raw = malloc(LCP_RAW_MAX)};
    void *unzip = malloc(lcp_unzip_size());
    file_tool_begin(argv);
    argp_parse(&argp, argc, argv, 0, NULL, &tool);
    if (reader.part == NULL || reader.raw == NULL || unzip == NULL) return 1;
    reader.unzip = lcp_unzip_init(unzip, lcp_unzip_size());
    for (int i = 0; i < tool.file_count; i++)
        file_read(&tool, tool.files[i], &reader);
    free(reader.part);
    free(reader.raw);
    free(unzip);
    return tool.faults > 0 ? 1 : 0;
}
