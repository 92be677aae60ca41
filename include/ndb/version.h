/* version.h -- the version of programs, library and signals: the one place of its numbers. */
/* SPDX-License-Identifier: MIT */
#pragma once

#define NDB_CLIENT_VERSION_MAJOR 1
#define NDB_CLIENT_VERSION_MINOR 0
#define NDB_CLIENT_VERSION_PATCH 0
#define NDB_CLIENT_VERSION                                                                         \
    ((NDB_CLIENT_VERSION_MAJOR << 16) | (NDB_CLIENT_VERSION_MINOR << 8) | NDB_CLIENT_VERSION_PATCH)

#define NDB_CLIENT_VERSION_WORDS(major, minor, patch) #major "." #minor "." #patch
#define NDB_CLIENT_VERSION_EXPANDED(major, minor, patch)                                           \
    NDB_CLIENT_VERSION_WORDS(major, minor, patch)
/* "1.0.0" */
#define NDB_CLIENT_VERSION_STRING                                                                  \
    NDB_CLIENT_VERSION_EXPANDED(NDB_CLIENT_VERSION_MAJOR, NDB_CLIENT_VERSION_MINOR,                \
                                NDB_CLIENT_VERSION_PATCH)
