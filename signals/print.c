/* print.c -- prints any signal with its fields' names, from the tables in print_fields.def. */
/* SPDX-License-Identifier: MIT */
#include "signals/print.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include "signals/api_reg.h"
#include "signals/arbit.h"
#include "signals/cntr.h"
#include "signals/copy.h"
#include "signals/dict.h"
#include "signals/dih.h"
#include "signals/durable.h"
#include "signals/failure.h"
#include "signals/event_report.h"
#include "signals/fs.h"
#include "signals/gcp.h"
#include "signals/gcp_local.h"
#include "signals/lcp.h"
#include "signals/local_table.h"
#include "signals/lqhkey.h"
#include "signals/outcome.h"
#include "signals/event_log.h"
#include "signals/management.h"
#include "signals/node_report.h"
#include "signals/qmgr.h"
#include "signals/redo.h"
#include "signals/order.h"
#include "signals/pace.h"
#include "signals/rejoin.h"
#include "signals/scan.h"
#include "signals/schema_restart.h"
#include "signals/schema_trans.h"
#include "signals/start.h"
#include "signals/sysfile.h"
#include "signals/pace.h"
#include "signals/takeover.h"
#include "signals/tckey.h"
#include "signals/trix.h"

#define F(type, field)                                                                             \
    {                                                                                              \
#field, (uint16_t)(offsetof(struct type, field) / 4u),                                     \
            (uint16_t)(sizeof(((struct type *)0)->field) / 4u)                                     \
    }
#define FIELDS(type, ...) static const struct signal_field type##_fields[] = {__VA_ARGS__};
#include "signals/print_fields.def"

/* A signal whose struct has no line in print_fields.def does not compile here. */
#define GSN(number, name, type, smin, smax, from, rule)                                            \
    {#name,                                                                                        \
     (number),                                                                                     \
     sizeof(struct type) / 4u,                                                                     \
     (smin),                                                                                       \
     (smax),                                                                                       \
     (from),                                                                                       \
     type##_fields,                                                                                \
     sizeof(type##_fields) / sizeof(type##_fields[0])},
#define GSN_KERNEL GSN
static const struct signal_shape shapes[] = {
#include "signals/gsn.def"
};
#undef GSN
#undef GSN_KERNEL

#define SHAPE_COUNT (sizeof(shapes) / sizeof(shapes[0]))

const struct signal_shape *signal_shape(uint32_t gsn)
{
    for (uint32_t i = 0; i < SHAPE_COUNT; i++) {
        if (shapes[i].gsn == gsn) return &shapes[i];
    }
    return NULL;
}

const struct signal_shape *signal_shape_at(uint32_t index)
{
    return index < SHAPE_COUNT ? &shapes[index] : NULL;
}

struct out {
    char *text;
    uint32_t size;
    uint32_t used;
};

static void put(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct out *out, const char *format, ...)
{
    if (out->used + 1 >= out->size) return;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out->text + out->used, out->size - out->used, format, args);
    va_end(args);
    if (length < 0) return;
    uint32_t room = out->size - out->used - 1;
    out->used += (uint32_t)length < room ? (uint32_t)length : room;
}

/* Small numbers are counts and ids; large ones are references and masks, which read better in hex.
 */
static void put_word(struct out *out, uint32_t value)
{
    put(out, value < 0x100000u ? "%" PRIu32 : "0x%08" PRIx32, value);
}

static void put_field(struct out *out, const struct signal *sig, const struct signal_field *field)
{
    put(out, "%s%s=", out->used == 0 ? "" : " ", field->name);
    if (field->words == 1) {
        put_word(out, sig->payload[field->word]);
        return;
    }
    put(out, "[");
    for (uint32_t i = field->word; i < (uint32_t)field->word + field->words && i < sig->words;
         i++) {
        if (i > field->word) put(out, " ");
        put_word(out, sig->payload[i]);
    }
    put(out, "]");
}

uint32_t signal_describe(const struct signal *sig, char *text, uint32_t size)
{
    struct out out = {.text = text, .size = size};
    const struct signal_shape *shape = signal_shape(sig->gsn);
    uint32_t printed = 0;
    if (size > 0) text[0] = 0;
    for (uint32_t i = 0; shape != NULL && i < shape->field_count; i++) {
        const struct signal_field *field = &shape->fields[i];
        if (field->word >= sig->words) break;
        put_field(&out, sig, field);
        printed = (uint32_t)field->word + field->words;
    }
    for (uint32_t i = printed; i < sig->words; i++) {
        put(&out, out.used == 0 ? "" : " ");
        put_word(&out, sig->payload[i]);
    }
    for (uint32_t i = 0; i < sig->section_count; i++) {
        put(&out, "%ssection%" PRIu32 "=%" PRIu32 "w", out.used == 0 ? "" : " ", i,
            sig->section[i].size);
    }
    return out.used;
}
