/* mc_convert.c -- columns' values from and to the text that memcached's clients see. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "servers/memcached/mc_convert.h"
#include "servers/memcached/mc_store_private.h"

#define SHORT_TEXT_MAX 128u /* Enough for numbers and dates. */

bool mc_convert_knows(enum ndb_column_type type)
{
    return (type >= NDB_TINYINT && type <= NDB_DOUBLE) || (type >= NDB_CHAR && type <= NDB_DATE) ||
           (type >= NDB_LONGVARCHAR && type <= NDB_TIMESTAMP) ||
           (type >= NDB_DECIMAL && type <= NDB_TIMESTAMP2);
}

/* Bytes that are stored as they are. */
static bool is_text(enum ndb_column_type type)
{
    return (type >= NDB_CHAR && type <= NDB_VARBINARY) || type == NDB_LONGVARCHAR ||
           type == NDB_LONGVARBINARY;
}

static bool is_integer(enum ndb_column_type type)
{
    return type >= NDB_TINYINT && type <= NDB_BIGUNSIGNED;
}

static bool is_signed(enum ndb_column_type type)
{
    return is_integer(type) && (uint32_t)type % 2u == 1u;
}

static int text_in(const struct ndb_column_info *info, const char *text, uint32_t size,
                   uint8_t *out, uint32_t room, bool *too_long)
{
    if (size > info->length) {
        *too_long = true;
        return -1;
    }
    if (info->size > room) return -1;
    if (info->prefix_bytes == 0) {
        memcpy(out, text, size);
        memset(out + size, info->type == NDB_CHAR ? ' ' : 0, info->length - size);
        return (int)info->length;
    }
    out[0] = (uint8_t)size;
    if (info->prefix_bytes == 2) out[1] = (uint8_t)(size >> 8);
    memcpy(out + info->prefix_bytes, text, size);
    return (int)(info->prefix_bytes + size);
}

int mc_convert_in(const struct ndb_table *table, uint32_t column, const char *text, uint32_t size,
                  void *out, uint32_t room, bool *too_long)
{
    struct ndb_column_info info;
    uint32_t stored = 0;
    *too_long = false;
    if (ndb_table_column(table, column, &info) != 0 || !mc_convert_knows(info.type)) return -1;
    if (is_text(info.type)) return text_in(&info, text, size, out, room, too_long);
    bool clock = info.type == NDB_TIME || info.type == NDB_TIME2;
    if (clock && size > 1 && text[0] == '+' && text[1] != '-') {
        text++;
        size--;
    }
    /* Blanks and the like are nothing that a client means as a number. */
    if (size == 0 || size >= SHORT_TEXT_MAX || text[0] == ' ' || text[size - 1] == ' ') return -1;
    return ndb_value_parse(table, column, text, size, out, room, &stored) == 0 ? (int)stored : -1;
}

static int text_out(const struct ndb_column_info *info, const uint8_t *value, uint32_t size,
                    char *out, uint32_t room)
{
    if (size < info->prefix_bytes) return -1;
    value += info->prefix_bytes;
    size -= info->prefix_bytes;
    while (info->type == NDB_CHAR && size > 0 && value[size - 1] == ' ')
        size--;
    if (size > room) return -1;
    memcpy(out, value, size);
    return (int)size;
}

int mc_convert_out(const struct ndb_table *table, uint32_t column, const void *value, uint32_t size,
                   char *out, uint32_t room)
{
    struct ndb_column_info info;
    char text[SHORT_TEXT_MAX];
    if (ndb_table_column(table, column, &info) != 0 || !mc_convert_knows(info.type)) return -1;
    if (is_text(info.type)) return text_out(&info, value, size, out, room);
    int length = ndb_value_print(table, column, value, size, 0, text, sizeof text);
    if (length < 0 || (uint32_t)length > room) return -1;
    if (info.type == NDB_DATETIME || info.type == NDB_DATETIME2) {
        char *between = memchr(text, '/', (size_t)length);
        if (between != NULL) *between = ' ';
    }
    memcpy(out, text, (size_t)length);
    return length;
}

bool mc_is_number(const char *text, uint32_t size)
{
    if (size == 0 || size >= 32) return false;
    for (uint32_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
    }
    return true;
}

bool mc_is_count(const struct mc_container *container, const char *text, uint32_t size)
{
    uint8_t stored[64];
    bool too_long;
    return container->dup_numbers && mc_is_number(text, size) && (size == 1 || text[0] != '0') &&
           mc_convert_in(container->table, container->increment_column, text, size, stored,
                         sizeof stored, &too_long) > 0;
}

bool mc_is_nullable(const struct mc_container *container, uint32_t column)
{
    struct ndb_column_info info;
    return ndb_table_column(container->table, column, &info) == 0 && info.nullable;
}

/* ---- Integers ---- */

uint32_t mc_integer_in(const struct ndb_table *table, uint32_t column, uint64_t number, void *out)
{
    struct ndb_column_info info;
    uint8_t *bytes = out;
    if (ndb_table_column(table, column, &info) != 0 || !is_integer(info.type) || info.size > 8)
        return 0;
    uint32_t bits = 8u * info.size - (is_signed(info.type) ? 1u : 0u);
    if (bits < 64 && number >> bits != 0) return 0;
    for (uint32_t i = 0; i < info.size; i++)
        bytes[i] = (uint8_t)(number >> (8u * i));
    return info.size;
}

bool mc_integer_out(const struct ndb_table *table, uint32_t column, const void *value,
                    uint32_t size, uint64_t *number)
{
    struct ndb_column_info info;
    const uint8_t *bytes = value;
    *number = 0;
    if (value == NULL || ndb_table_column(table, column, &info) != 0 || !is_integer(info.type) ||
        size == 0 || size > 8)
        return false;
    for (uint32_t i = 0; i < size; i++)
        *number |= (uint64_t)bytes[i] << (8u * i);
    if (is_signed(info.type) && (bytes[size - 1] & 0x80) != 0 && size < 8)
        *number |= UINT64_MAX << (8u * size);
    return true;
}

/* ---- Expiries ---- */

static uint32_t expiry_as_text(const struct ndb_table *table, uint32_t column, const char *text,
                               int length, void *out)
{
    uint32_t size = 0;
    if (length <= 0) return 0;
    return ndb_value_parse(table, column, text, (uint32_t)length, out, MC_VALUE_BYTES, &size) == 0
               ? size
               : 0;
}

static uint32_t expiry_as_date(const struct ndb_table *table, uint32_t column, uint32_t expiry,
                               void *out)
{
    char text[64] = "0000-00-00 00:00:00";
    struct tm tm;
    time_t seconds = (time_t)expiry;
    if (expiry != 0 && (gmtime_r(&seconds, &tm) == NULL ||
                        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm) == 0))
        return 0;
    return expiry_as_text(table, column, text, (int)strlen(text), out);
}

uint32_t mc_expiry_in(const struct ndb_table *table, uint32_t column, uint32_t expiry, void *out)
{
    struct ndb_column_info info;
    char text[32];
    if (ndb_table_column(table, column, &info) != 0) return 0;
    if (is_integer(info.type)) {
        uint32_t size = mc_integer_in(table, column, expiry, out);
        return size != 0 ? size : mc_integer_in(table, column, INT32_MAX, out);
    }
    if (info.type == NDB_DATETIME || info.type == NDB_DATETIME2)
        return expiry_as_date(table, column, expiry, out);
    if (info.type != NDB_TIMESTAMP && info.type != NDB_TIMESTAMP2) return 0;
    return expiry_as_text(table, column, text, snprintf(text, sizeof text, "%u", expiry), out);
}

static uint32_t seconds_of(int64_t seconds)
{
    if (seconds < 0) return MC_EXPIRED;
    return seconds > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

static uint32_t expiry_of_date(const char *text)
{
    struct tm tm = {0};
    if (sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec) != 6 ||
        tm.tm_year == 0)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return seconds_of((int64_t)timegm(&tm));
}

uint32_t mc_expiry_out(const struct ndb_table *table, uint32_t column, const void *value,
                       uint32_t size)
{
    struct ndb_column_info info;
    char text[SHORT_TEXT_MAX];
    uint64_t number;
    if (value == NULL || ndb_table_column(table, column, &info) != 0) return 0;
    if (mc_integer_out(table, column, value, size, &number))
        return is_signed(info.type)  ? seconds_of((int64_t)number)
               : number > UINT32_MAX ? UINT32_MAX
                                     : (uint32_t)number;
    if (ndb_value_print(table, column, value, size, 0, text, sizeof text) < 0) return 0;
    if (info.type == NDB_TIMESTAMP || info.type == NDB_TIMESTAMP2) {
        unsigned seconds = 0;
        return sscanf(text, "%10u", &seconds) == 1 ? seconds : 0;
    }
    return expiry_of_date(text);
}
