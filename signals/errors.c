/* errors.c -- the table behind errors.h, made from include/ndb/errors.def. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals/errors.h"

#include <stddef.h>

static const struct error_entry entries[] = {
#define NDB_ERROR(number, name, class, text) {number, ERROR_CLASS_##class, #name, text},
#include "ndb/errors.def"
#undef NDB_ERROR
};

static const struct error_entry unknown = {0, ERROR_CLASS_UE, "UNKNOWN", "Unknown error code"};

struct class_entry {
    const char *code;
    const char *name;
    enum error_status status;
};

static const struct class_entry classes[ERROR_CLASS_COUNT] = {
    [ERROR_CLASS_NE] = {"NE", "No error", ERROR_STATUS_SUCCESS},
    [ERROR_CLASS_AE] = {"AE", "Application error", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_ND] = {"ND", "No data found", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_CV] = {"CV", "Constraint violation", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_SE] = {"SE", "Schema error", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_UD] = {"UD", "User defined error", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_IS] = {"IS", "Insufficient space", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_TR] = {"TR", "Temporary Resource error", ERROR_STATUS_TEMPORARY},
    [ERROR_CLASS_NR] = {"NR", "Node Recovery error", ERROR_STATUS_TEMPORARY},
    [ERROR_CLASS_OL] = {"OL", "Overload error", ERROR_STATUS_TEMPORARY},
    [ERROR_CLASS_TO] = {"TO", "Timeout expired", ERROR_STATUS_TEMPORARY},
    [ERROR_CLASS_UR] = {"UR", "Unknown result error", ERROR_STATUS_UNKNOWN},
    [ERROR_CLASS_IE] = {"IE", "Internal error", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_NI] = {"NI", "Function not implemented", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_UE] = {"UE", "Unknown error code", ERROR_STATUS_UNKNOWN},
    [ERROR_CLASS_NS] = {"NS", "Node shutdown", ERROR_STATUS_TEMPORARY},
    [ERROR_CLASS_CE] = {"CE", "Configuration or application error", ERROR_STATUS_PERMANENT},
    [ERROR_CLASS_OE] = {"OE", "Schema object already exists", ERROR_STATUS_UNKNOWN},
    [ERROR_CLASS_IT] = {"IT", "Internal temporary", ERROR_STATUS_TEMPORARY},
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
        if (entries[middle].number == number)
            return &entries[middle];
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

    return entry != NULL ? entry : &unknown;
}

static const struct class_entry *class_entry(enum error_class class)
{
    return &classes[(uint32_t)class < ERROR_CLASS_COUNT ? class : ERROR_CLASS_UE];
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
