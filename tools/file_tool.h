/* file_tool.h -- what the tools that print a node's files share. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "formats/file_header.h"

/* The whole file, malloc()ed and filled up with zeros to `least` bytes at least; NULL and a message
 * when it cannot be read. */
uint8_t *file_tool_read(const char *name, size_t least, size_t *size);

/* argp_program_version_hook of these tools. */

/* Prints "name: byte N: text". */
void file_tool_fault(const char *name, uint64_t offset, const char *text);

/* Checks the header of a file of this kind, whosoever it is. False: told why not. */
bool file_tool_header(const char *name, const uint8_t *bytes, size_t size, enum file_kind kind,
                      struct file_header *header);

/* First in main(): what argp and the end of the program need. */
void file_tool_begin(char **argv);

/* Parses the arguments (files, at least one; option --check) and lets `print` look at each. Returns
 * the exit code: 0, 1 when one was false, 2 for wrong arguments. */
int file_tool_main(int argc, char **argv, const char *about,
                   bool (*print)(const char *name, bool check));
