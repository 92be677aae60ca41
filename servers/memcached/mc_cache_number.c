/* mc_cache_number.c -- increment and decrement in the cache. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "servers/memcached/mc_cache_private.h"
#include <string.h>

#define DIGITS_MAX 20u

/* ---- Numbers as text ---- */

static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Reads digits; *used is 0 if there are none. False: more than 64 bits. */
static bool digits_read(const char *bytes, uint32_t size, uint32_t *used, uint64_t *number)
{
    uint64_t sum = 0;
    uint32_t at = 0;
    for (; at < size && bytes[at] >= '0' && bytes[at] <= '9'; at++) {
        uint64_t digit = (uint64_t)(bytes[at] - '0');
        if (sum > (UINT64_MAX - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *used = at;
    *number = sum;
    return true;
}

/* As memcached reads numbers, by strtoull: blanks before and anything after a blank do not count,
   a sign may be there, but what is below zero then is no number. */
static bool number_read(const struct mc_value *value, uint64_t *number)
{
    const char *bytes = value->bytes;
    uint32_t at = 0, used;
    bool negative = false;
    while (at < value->size && is_blank(bytes[at]))
        at++;
    if (at < value->size && (bytes[at] == '-' || bytes[at] == '+')) negative = bytes[at++] == '-';
    if (!digits_read(bytes + at, value->size - at, &used, number) || used == 0) return false;
    at += used;
    if (at < value->size && !is_blank(bytes[at]) && bytes[at] != '\0') return false;
    if (negative) *number = 0 - *number;
    return !negative || *number >> 63 == 0;
}

static uint32_t number_print(uint64_t number, char digits[DIGITS_MAX])
{
    uint32_t size = 0;
    char backwards[DIGITS_MAX];
    do {
        backwards[size++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (uint32_t i = 0; i < size; i++)
        digits[i] = backwards[size - 1 - i];
    return size;
}

/* `size_least` bytes at least, with blanks at the end. */
static struct mc_value *number_value(uint64_t number, uint32_t size_least)
{
    char digits[DIGITS_MAX];
    uint32_t digit_count = number_print(number, digits);
    uint32_t size = digit_count > size_least ? digit_count : size_least;
    struct mc_value *value = mc_value_create(size);
    if (value == NULL) return NULL;
    memcpy(value->bytes, digits, digit_count);
    memset(value->bytes + digit_count, ' ', size - digit_count);
    return value;
}

/* ---- Commands ---- */

/* A value that only the cache holds nobody reads, and nobody can begin to: its shard is ours. */
static bool write_in_place(struct mc_value *value, uint64_t number)
{
    char digits[DIGITS_MAX];
    uint32_t digit_count = number_print(number, digits);
    if (digit_count > value->size) return false;
    if (__atomic_load_n(&value->references, __ATOMIC_ACQUIRE) != 1) return false;
    memcpy(value->bytes, digits, digit_count);
    memset(value->bytes + digit_count, ' ', value->size - digit_count);
    return true;
}

/* A number that gets longer is a new value, of which nothing has been said yet. */
static enum mc_status write_anew(const struct mc_place *place, struct mc_item *item,
                                 uint64_t number)
{
    uint32_t size = item->value->size;
    struct mc_value *value = number_value(number, size);
    bool stored = value != NULL && mc_item_value(place, item, value);
    mc_value_release(value);
    if (!stored) return MC_NO_MEMORY;
    if (item->value->size > size) item->fetched = item->stale = item->token_sent = false;
    return MC_OK;
}

static uint64_t changed(const struct mc_request *request, uint64_t number)
{
    if (request->command == MC_INCREMENT) return number + request->delta;
    return number > request->delta ? number - request->delta : 0;
}

static enum mc_status count_item(const struct mc_place *place, struct mc_request *request,
                                 struct mc_item *item)
{
    uint64_t number;
    if (item->value->size == 0) return MC_NON_NUMERIC;
    if (request->cas_given && item->cas != request->cas) return MC_EXISTS;
    if (!number_read(item->value, &number)) return MC_NON_NUMERIC;
    number = changed(request, number);
    if (!write_in_place(item->value, number)) {
        enum mc_status status = write_anew(place, item, number);
        if (status != MC_OK) return status;
    }
    uint32_t before = item->expiry;
    if (request->touch) item->expiry = request->expiry;
    mc_cache_renew(place, request, item);
    mc_item_use(place, item);
    mc_item_written(place);
    request->result.number = number;
    mc_cache_tell(item, &request->result);
    if (mc_cache_stands_before(request, 't', 'T')) request->result.expiry = before;
    return MC_OK;
}

static enum mc_status create_number(const struct mc_place *place, struct mc_request *request)
{
    struct mc_value *value = number_value(request->initial, 0);
    struct mc_item *item = value != NULL ? mc_item_create(place, value) : NULL;
    mc_value_release(value);
    if (item == NULL) return MC_NO_MEMORY;
    item->expiry = request->meta.vivify_given ? mc_cache_vivify_expiry(request, '\0')
                                              : request->expiry; /* Binary. */
    mc_cache_renew(place, request, item);
    mc_item_written(place);
    request->result.number = request->initial;
    request->result.created = true;
    mc_cache_tell(item, &request->result);
    if (request->meta.vivify_given) request->result.expiry = mc_cache_vivify_expiry(request, 't');
    return MC_OK;
}

static void count_use(const struct mc_place *place, const struct mc_request *request, bool hit)
{
    struct mc_cache_figures *figures = &place->shard->figures;
    if (request->command == MC_INCREMENT) {
        figures->incr_hits += hit;
        figures->incr_misses += !hit;
    } else {
        figures->decr_hits += hit;
        figures->decr_misses += !hit;
    }
}

void mc_cache_count(const struct mc_place *place, struct mc_request *request)
{
    struct mc_item *item = mc_item_find(place, NULL);
    struct mc_result *result = &request->result;
    if (item != NULL) {
        result->status = count_item(place, request, item);
        if (result->status == MC_OK) count_use(place, request, true);
    } else {
        count_use(place, request, false);
        result->status = request->create ? create_number(place, request) : MC_NOT_FOUND;
    }
}
