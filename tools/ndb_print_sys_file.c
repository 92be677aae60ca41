/* ndb_print_sys_file.c -- prints and verifies system files. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include "formats/sysfile_format.h"
#include "tools/file_tool.h"

static void print_nodes(const struct sysfile *content)
{
    printf("  members of the incarnation:");
    for (uint32_t node = 1; node < SYSFILE_NODES; node++) {
        if (node_mask_has(&content->members, node)) printf(" %u", node);
    }
    printf("\n  node groups:");
    for (uint32_t node = 1; node < SYSFILE_NODES; node++) {
        if (content->nodegroup[node] != SYSFILE_NO_GROUP)
            printf(" %u=%u", node, content->nodegroup[node]);
    }
    printf("\n");
}

static void print_ends(const struct sysfile *content)
{
    const struct log_ends *ends = &content->ends;
    for (uint32_t at = 0; at < ends->size;) {
        const uint32_t *entry = ends->words + at;
        const uint32_t *pair = entry + LOG_ENDS_ENTRY_HEAD;
        uint32_t parts = log_ends_parts(entry);
        for (uint32_t i = 0; i < parts; i++)
            printf("  node %u, log part %u: durable up to page %llu\n", log_ends_node(entry), i,
                   pair[2u * i] | (unsigned long long)pair[2u * i + 1u] << 32);
        at += LOG_ENDS_ENTRY_HEAD + 2u * parts;
    }
}

static void print_lists(const struct sysfile *content)
{
    for (uint32_t i = 0; i < SYSFILE_LDM_MAX; i++) {
        if (content->list[i].number != 0)
            printf("  LDM %u: list %u of checkpoints, check %08x\n", i + 1u,
                   content->list[i].number, content->list[i].check);
    }
}

static void print_content(const char *name, const struct file_header *header,
                          const struct sysfile *content)
{
    printf("%s: system file %u, cluster %016llx, node %u, write %llu\n", name, header->instance,
           (unsigned long long)header->cluster_id, header->node,
           (unsigned long long)header->sequence);
    printf("  incarnation %u, restorable up to GCI %u\n", content->incarnation, content->gci);
    print_nodes(content);
    for (uint32_t i = 0; i < content->ended_count; i++)
        printf("  incarnations up to %u ended at GCI %u\n", content->ended[i].incarnation,
               content->ended[i].gci);
    uint64_t schema = content->schema_lo | (uint64_t)content->schema_hi << 32;
    if (schema != 0) printf("  schema number %llu\n", (unsigned long long)schema);
    print_lists(content);
    print_ends(content);
}

static bool print_file(const char *name, bool check)
{
    size_t size;
    struct file_header header;
    static struct sysfile content;
    uint8_t *bytes = file_tool_read(name, SYSFILE_BYTES_MAX, &size);
    bool good = bytes != NULL && file_tool_header(name, bytes, size, FILE_KIND_SYSTEM, &header);
    const char *fault = NULL;
    if (good && (size % SYSFILE_BLOCK != 0 || size == 0 || size > SYSFILE_BYTES_MAX))
        fault = size < SYSFILE_BLOCK ? "it ends too early" : "it is too long";
    else if (good && !sysfile_content(bytes, size, &content))
        fault = "the content does not have its checksum";
    else if (good && (content.layout != SYSFILE_LAYOUT || content.ended_count > SYSFILE_ENDED_MAX))
        fault = "another version has written it";
    else if (good && !log_ends_good(content.ends.words, content.ends.size, content.gci))
        fault = "the ends of the logs are not those of its GCI";
    if (fault != NULL) file_tool_fault(name, FILE_HEADER_BYTES, fault);
    good = good && fault == NULL;
    if (good && !check) print_content(name, &header, &content);
    free(bytes);
    return good;
}

int main(int argc, char **argv)
{
    return file_tool_main(
        argc, argv,
        "Prints and verifies system files (D1/sysfile.0 and .1 of a data node): which GCI the node "
        "can be restored to, in which incarnation of the cluster, which schema and which list of "
        "checkpoints of each LDM must be there, and where the logs of all nodes ended. Of two good "
        "ones the one with the "
        "greater number of its write counts.\vExit code 0: all files are good; 1: a file is "
        "damaged or could not be read; 2: wrong arguments.",
        print_file);
}
