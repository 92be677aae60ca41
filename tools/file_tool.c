/* file_tool.c -- reads files and their headers for the tools that print them. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tools/file_tool.h"
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "ndb/ndb.h"
#include "service/program.h"

uint8_t *file_tool_read(const char *name, size_t least, size_t *size)
{
    struct stat status;
    FILE *file = fopen(name, "rb");
    long end = -1;
    if (file != NULL && fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode))
        errno = EISDIR;
    else if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        end = ftell(file);
    if (end < 0) {
        fprintf(stderr, "%s: %s\n", name, strerror(errno));
        if (file != NULL) fclose(file);
        return NULL;
    }
    rewind(file);
    *size = (size_t)end;
    /* One more: an empty file is no lack of memory. */
    errno = 0;
    uint8_t *bytes = calloc(1, (*size < least ? least : *size) + 1u);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size) {
        const char *why = errno == 0 ? "it became shorter while it was read" : strerror(errno);
        fprintf(stderr, "%s: %s\n", name, why);
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

static void print_version(FILE *stream, struct argp_state *state)
{
    fprintf(stream, "%s %s\n", state->name, NDB_CLIENT_VERSION_STRING);
}

void file_tool_begin(char **argv)
{
    argv[0] = program_begin(argv[0], 1);
    argp_err_exit_status = 2;
    argp_program_version_hook = print_version;
}

void file_tool_fault(const char *name, uint64_t offset, const char *text)
{
    printf("%s: byte %llu: %s\n", name, (unsigned long long)offset, text);
}

bool file_tool_header(const char *name, const uint8_t *bytes, size_t size, enum file_kind kind,
                      struct file_header *header)
{
    char why[200];
    struct file_header own;
    memset(&own, 0, sizeof(own));
    memcpy(&own, bytes, size < sizeof(own) ? size : sizeof(own));
    const struct file_expected want = {.kind = kind,
                                       .node = own.node,
                                       .cluster_id = own.cluster_id,
                                       .instance = own.instance,
                                       .instance2 = own.instance2};
    if (file_header_check(bytes, size, &want, header, why, sizeof(why)) == FILE_GOOD) return true;
    file_tool_fault(name, 0, why);
    return false;
}

struct arguments {
    bool check;
    char **files;
    int count;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    (void)arg;
    switch (key) {
    case 'c':
        arguments->check = true;
        return 0;
    case ARGP_KEY_ARGS:
        arguments->files = state->argv + state->next;
        arguments->count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "name a file, or several");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int file_tool_main(int argc, char **argv, const char *about,
                   bool (*print)(const char *name, bool check))
{
    static const struct argp_option options[] = {
        {"check", 'c', NULL, 0, "Print damage only", 0},
        {0},
    };
    const struct argp argp = {options, parse, "FILE...", about, NULL, NULL, NULL};
    struct arguments arguments = {0};
    bool good = true;
    file_tool_begin(argv);
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    for (int i = 0; i < arguments.count; i++)
        good = print(arguments.files[i], arguments.check) && good;
    return good ? 0 : 1;
}
