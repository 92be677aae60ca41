/* errors.c -- the table behind errors.h, made from include/ndb/errors.def. */
/* SPDX-License-Identifier: MIT */
#include "values/errors.h"

#include <stddef.h>

static const struct error_entry entries[] = {
#define NDB_ERROR(number, name, class, text) {number, ERROR_CLASS_##class, #name, text},
#include "ndb/errors.def"
#undef NDB_ERROR
};

static const struct error_entry unknown = {0, ERROR_CLASS_UE, "UNKNOWN", "Unknown error code"};

/* Codes that programs of the application refuse operations with: nothing has happened then. */
#define APPLICATION_FIRST 6000u
#define APPLICATION_LAST  6999u

static const struct error_entry application = {0, ERROR_CLASS_UD, "APPLICATION",
                                               "Refused by the application's own program"};

struct class_entry {
    const char *code;
    const char *name;
    enum error_status status;
};

static const struct class_entry classes[ERROR_CLASS_COUNT] = {
#define NDB_ERROR_CLASS(code, number, status, name) [number] = {#code, name, ERROR_STATUS_##status},
#include "ndb/error_classes.def"
#undef NDB_ERROR_CLASS
};

static const char *const status_names[] = {
    [ERROR_STATUS_SUCCESS] = "Success",
    [ERROR_STATUS_TEMPORARY] = "Temporary error",
    [ERROR_STATUS_PERMANENT] = "Permanent error",
    [ERROR_STATUS_UNKNOWN] = "Unknown result",
};

uint32_t error_count(void)
{
    return (uint32_t)(sizeof(entries) / sizeof(entries[0]));
}

const struct error_entry *error_at(uint32_t index)
{
    return index < error_count() ? &entries[index] : NULL;
}

const struct error_entry *error_find(uint32_t number)
{
    uint32_t low = 0;
    uint32_t high = error_count();

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (entries[middle].number == number) return &entries[middle];
        if (entries[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct error_entry *error_get(uint32_t number)
{
    const struct error_entry *entry = error_find(number);

    if (number >= APPLICATION_FIRST && number <= APPLICATION_LAST) return &application;
    return entry != NULL ? entry : &unknown;
}

static const struct class_entry *class_entry(enum error_class class)
{
    return &classes[(uint32_t) class < ERROR_CLASS_COUNT ? class : ERROR_CLASS_UE];
}

enum error_status error_status_of_class(enum error_class class)
{
    return class_entry(class)->status;
}

enum error_status error_status(uint32_t number)
{
    return error_status_of_class(error_get(number)->class);
}

const char *error_class_code(enum error_class class)
{
    return class_entry(class)->code;
}

const char *error_class_name(enum error_class class)
{
    return class_entry(class)->name;
}

const char *error_status_name(enum error_status status)
{
    return status_names[(uint32_t)status < 4 ? status : ERROR_STATUS_UNKNOWN];
}
