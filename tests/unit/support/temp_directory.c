/* temp_directory.c -- a directory of a test's own below /tmp, which goes with all that is in it. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/support/temp_directory.h"

#define BEGINNING        "/tmp/ndb_test."
#define DESCRIPTORS_MOST 8

void temp_directory_make(char path[TEMP_DIRECTORY_SIZE])
{
    (void)snprintf(path, TEMP_DIRECTORY_SIZE, BEGINNING "XXXXXX");
    assert_non_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void temp_directory_remove(const char *path)
{
    assert_int_equal(strncmp(path, BEGINNING, strlen(BEGINNING)), 0);
    assert_int_equal(nftw(path, remove_one, DESCRIPTORS_MOST, FTW_DEPTH | FTW_PHYS), 0);
}

static char current[TEMP_DIRECTORY_SIZE];

int temp_directory_enter(void **state)
{
    (void)state;
    temp_directory_make(current);
    return chdir(current);
}

int temp_directory_leave(void **state)
{
    (void)state;
    temp_directory_remove(current);
    return chdir("/");
}

void temp_file_make(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void temp_file_has(const char *path, const char *text)
{
    char now[200] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    now[fread(now, 1, sizeof now - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_string_equal(now, text);
}
