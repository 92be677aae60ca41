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
