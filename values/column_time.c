/* column_time.c -- dates, times and timestamps, old and new forms, to and from text. */
/* SPDX-License-Identifier: MIT */
/*
 * Every form is taken apart into struct moment and put together from it. The new forms are one
 * big endian integer, whole part in front of 0 to 3 bytes of fraction, offset so that it is never
 * negative. The all-zero date 0000-00-00 is a value, as in the field; no other date with a zero
 * month or day is.
 */
#include <stdio.h>
#include <string.h>

#include "values/column_private.h"
#include "values/errors.h"

struct moment {
    uint32_t year, month, day; /* all 0 for a time of day, and for the zero date */
    uint32_t hour, minute, second, micro;
    uint32_t epoch_seconds; /* timestamps: instead of all the above except micro */
    bool negative;          /* times only */
};

enum {
    TIME_HOURS_MAX = 838,
    YEAR_BASE = 1900,
    TIME2_OFFSET = 0x800000, /* offset of the 3 byte whole part */
};

static const uint64_t DATETIME2_OFFSET = 0x8000000000; /* offset of the 5 byte whole part */

/* Microseconds per unit of the stored fraction, by its bytes. */
static const uint32_t fraction_units[4] = {1000000, 10000, 100, 1};

/* Microseconds per unit of the last digit, by fraction digits. */
static const uint32_t digit_units[COLUMN_FRACTION_DIGITS_MAX + 1] = {1000000, 100000, 10000, 1000,
                                                                     100,     10,     1};

static bool is_leap(uint32_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static uint32_t days_in_month(uint32_t year, uint32_t month)
{
    static const uint8_t days[13] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && is_leap(year) ? 29 : days[month];
}

static bool date_valid(const struct moment *m)
{
    if (m->year == 0 && m->month == 0 && m->day == 0) return true;
    return m->year <= 9999 && m->month >= 1 && m->month <= 12 && m->day >= 1 &&
           m->day <= days_in_month(m->year, m->month);
}

static bool clock_valid(const struct moment *m, uint32_t hours_max)
{
    if (m->hour > hours_max || m->minute > 59 || m->second > 59 || m->micro > 999999) return false;
    /* The longest time is 838:59:59.000000. */
    return hours_max != TIME_HOURS_MAX || m->hour < hours_max || m->minute < 59 || m->second < 59 ||
           m->micro == 0;
}

static bool is_clock(uint32_t type)
{
    return type == COLUMN_TIME || type == COLUMN_TIME2;
}

static bool is_timestamp(uint32_t type)
{
    return type == COLUMN_TIMESTAMP || type == COLUMN_TIMESTAMP2;
}

static bool moment_valid(const struct column_format *format, const struct moment *m)
{
    if (format->type == COLUMN_YEAR)
        return m->year == 0 || (m->year > YEAR_BASE && m->year <= YEAR_BASE + 255);
    if (m->micro % digit_units[format->precision] != 0) return false;
    if (is_timestamp(format->type)) return m->micro <= 999999;
    if (is_clock(format->type))
        return clock_valid(m, TIME_HOURS_MAX) &&
               (!m->negative || (m->hour | m->minute | m->second | m->micro) != 0);
    return date_valid(m) && clock_valid(m, 23);
}

/* hour << 12 | minute << 6 | second */
static void unpack_clock(uint64_t packed, struct moment *m)
{
    m->hour = (uint32_t)(packed >> 12);
    m->minute = (uint32_t)(packed >> 6 & 63);
    m->second = (uint32_t)(packed & 63);
}

static uint64_t pack_clock(const struct moment *m)
{
    return (uint64_t)m->hour << 12 | m->minute << 6 | m->second;
}

/* The decimal number YYYYMMDDHHMMSS or HHMMSS of the old forms. */
static void unpack_decimal(uint64_t number, struct moment *m)
{
    m->second = (uint32_t)(number % 100);
    m->minute = (uint32_t)(number / 100 % 100);
    m->hour = (uint32_t)(number / 10000);
}

static void unpack_date_time(uint64_t number, struct moment *m)
{
    uint64_t date = number / 1000000;

    unpack_decimal(number % 1000000, m);
    m->day = (uint32_t)(date % 100);
    m->month = (uint32_t)(date / 100 % 100);
    m->year = date / 10000 > 9999 ? 10000 : (uint32_t)(date / 10000);
}

static void unpack_time2(uint64_t stored, uint32_t fraction_bytes, struct moment *m)
{
    uint64_t offset = (uint64_t)TIME2_OFFSET << (8 * fraction_bytes);
    uint64_t packed = stored >= offset ? stored - offset : offset - stored;

    m->negative = stored < offset;
    unpack_clock(packed >> (8 * fraction_bytes), m);
    m->micro = (uint32_t)(packed & ((1ull << (8 * fraction_bytes)) - 1));
}

static bool unpack_datetime2(uint64_t stored, uint32_t fraction_bytes, struct moment *m)
{
    uint64_t whole = stored >> (8 * fraction_bytes);

    if (whole < DATETIME2_OFFSET) return false;
    whole -= DATETIME2_OFFSET;
    unpack_clock(whole & 0x1FFFF, m);
    m->day = (uint32_t)(whole >> 17 & 31);
    m->month = (uint32_t)((whole >> 22) % 13);
    m->year = (uint32_t)((whole >> 22) / 13);
    m->micro = (uint32_t)(stored & ((1ull << (8 * fraction_bytes)) - 1));
    return true;
}

/* Takes the stored bytes apart. False when they are no value of the type. */
static bool unpack(const struct column_format *format, const uint8_t *bytes, struct moment *m)
{
    uint32_t fraction_bytes = (format->precision + 1u) / 2;
    uint64_t value;

    memset(m, 0, sizeof(*m));
    if (format->precision > COLUMN_FRACTION_DIGITS_MAX) return false;
    switch (format->type) {
    case COLUMN_YEAR:
        m->year = bytes[0] != 0 ? YEAR_BASE + (uint32_t)bytes[0] : 0;
        break;
    case COLUMN_DATE:
        value = load_le(bytes, 3);
        m->year = (uint32_t)(value >> 9);
        m->month = (uint32_t)(value >> 5 & 15);
        m->day = (uint32_t)(value & 31);
        break;
    case COLUMN_TIME:
        value = load_le(bytes, 3);
        m->negative = value >> 23 != 0;
        unpack_decimal(m->negative ? 0x1000000 - value : value, m);
        break;
    case COLUMN_DATETIME:
        unpack_date_time(load_le(bytes, 8), m);
        break;
    case COLUMN_TIMESTAMP:
        m->epoch_seconds = (uint32_t)load_le(bytes, 4);
        break;
    case COLUMN_TIME2:
        unpack_time2(load_be(bytes, 3 + fraction_bytes), fraction_bytes, m);
        break;
    case COLUMN_DATETIME2:
        if (!unpack_datetime2(load_be(bytes, 5 + fraction_bytes), fraction_bytes, m)) return false;
        break;
    case COLUMN_TIMESTAMP2:
        m->epoch_seconds = (uint32_t)load_be(bytes, 4);
        m->micro = (uint32_t)load_be(bytes + 4, fraction_bytes);
        break;
    default:
        return false;
    }
    if (m->micro > 999999) return false;
    m->micro *= fraction_units[fraction_bytes] % 1000000; /* No fraction: stays 0. */
    return moment_valid(format, m);
}

bool time_check(const struct column_format *format, const uint8_t *bytes)
{
    struct moment m;

    return unpack(format, bytes, &m);
}

/* The opposite of unpack, for a valid moment. */
static void pack(const struct column_format *format, const struct moment *m, uint8_t *out)
{
    uint32_t fraction_bytes = (format->precision + 1u) / 2;
    uint64_t fraction = m->micro / fraction_units[fraction_bytes];
    uint64_t value;

    switch (format->type) {
    case COLUMN_YEAR:
        out[0] = (uint8_t)(m->year != 0 ? m->year - YEAR_BASE : 0);
        break;
    case COLUMN_DATE:
        store_le(out, 3, (uint64_t)m->year << 9 | m->month << 5 | m->day);
        break;
    case COLUMN_TIME:
        value = (uint64_t)m->hour * 10000 + m->minute * 100 + m->second;
        store_le(out, 3, m->negative ? 0x1000000 - value : value);
        break;
    case COLUMN_DATETIME:
        value = (uint64_t)m->year * 10000 + m->month * 100 + m->day;
        store_le(out, 8, value * 1000000 + m->hour * 10000 + m->minute * 100 + m->second);
        break;
    case COLUMN_TIMESTAMP:
        store_le(out, 4, m->epoch_seconds);
        break;
    case COLUMN_TIME2: {
        uint64_t offset = (uint64_t)TIME2_OFFSET << (8 * fraction_bytes);
        value = pack_clock(m) << (8 * fraction_bytes) | fraction;
        store_be(out, 3 + fraction_bytes, m->negative ? offset - value : offset + value);
        break;
    }
    case COLUMN_DATETIME2:
        value = ((uint64_t)m->year * 13 + m->month) << 22 | (uint64_t)m->day << 17 | pack_clock(m);
        value = (value + DATETIME2_OFFSET) << (8 * fraction_bytes) | fraction;
        store_be(out, 5 + fraction_bytes, value);
        break;
    default: /* COLUMN_TIMESTAMP2 */
        store_be(out, 4, m->epoch_seconds);
        store_be(out + 4, fraction_bytes, fraction);
        break;
    }
}

/* A position in a text; every reading function moves it and says whether it found its thing. */
struct reader {
    const char *at;
    const char *end;
};

static bool read_char(struct reader *r, char wanted)
{
    if (r->at == r->end || *r->at != wanted) return false;
    r->at++;
    return true;
}

static bool read_number(struct reader *r, uint32_t digits_min, uint32_t digits_max, uint32_t *value)
{
    uint32_t digits = 0;
    uint64_t number = 0;

    while (r->at < r->end && digits < digits_max && *r->at >= '0' && *r->at <= '9') {
        number = number * 10 + (uint64_t)(*r->at - '0');
        r->at++;
        digits++;
    }
    *value = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
    return digits >= digits_min && number <= UINT32_MAX;
}

/* Reads [.digits], rounds it half up to the column's digits; *carry is set when it became 1 s. */
static bool read_fraction(struct reader *r, uint32_t precision, uint32_t *micro, bool *carry)
{
    uint64_t tenth_micros = 0; /* One digit more than can be kept decides all rounding. */
    uint32_t unit = 1000000;
    uint32_t keep = digit_units[precision];

    *micro = 0;
    *carry = false;
    if (!read_char(r, '.')) return true;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        tenth_micros += unit * (uint64_t)(*r->at - '0');
        unit /= 10;
    }
    uint64_t units = (tenth_micros + keep * 5ull) / (keep * 10ull);
    *carry = units * keep >= 1000000;
    *micro = *carry ? 0 : (uint32_t)(units * keep);
    return true;
}

static bool read_date(struct reader *r, struct moment *m)
{
    return read_number(r, 4, 4, &m->year) && read_char(r, '-') && read_number(r, 1, 2, &m->month) &&
           read_char(r, '-') && read_number(r, 1, 2, &m->day);
}

static bool read_clock(struct reader *r, uint32_t hour_digits, struct moment *m)
{
    return read_number(r, 1, hour_digits, &m->hour) && read_char(r, ':') &&
           read_number(r, 1, 2, &m->minute) && read_char(r, ':') &&
           read_number(r, 1, 2, &m->second);
}

/* Adds the second that rounding of the fraction made. */
static void add_second(struct moment *m, bool has_date)
{
    if (++m->second < 60) return;
    m->second = 0;
    if (++m->minute < 60) return;
    m->minute = 0;
    if (++m->hour < 24 || !has_date) return;
    m->hour = 0;
    if (m->month == 0 || ++m->day <= days_in_month(m->year, m->month)) return;
    m->day = 1;
    if (++m->month <= 12) return;
    m->month = 1;
    m->year++;
}

static bool is_digit_at(const struct reader *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

/* Date, then optionally a separator and a time of day. */
static uint32_t parse_date_time(struct reader *r, uint32_t precision, struct moment *m)
{
    bool carry = false;

    if (!read_date(r, m)) return ERR_VALUE_INVALID;
    if (read_char(r, '/') || read_char(r, ' ') || read_char(r, 'T')) {
        if (!is_digit_at(r) || !read_clock(r, 2, m) ||
            !read_fraction(r, precision, &m->micro, &carry))
            return ERR_VALUE_INVALID;
    }
    if (!date_valid(m) || !clock_valid(m, 23)) return ERR_VALUE_OUT_OF_RANGE;
    if (carry) add_second(m, true);
    return ERR_NONE;
}

/* Days since 1970-01-01 of a valid date from then on. */
static uint32_t days_since_epoch(const struct moment *m)
{
    uint32_t years = m->year - 1970;
    uint32_t before = m->year - 1;
    uint32_t days = years * 365 + (before / 4 - before / 100 + before / 400) - 477;

    for (uint32_t month = 1; month < m->month; month++)
        days += days_in_month(m->year, month);
    return days + m->day - 1;
}

/* Seconds as a number, or a date and time in UTC. */
static uint32_t parse_timestamp(struct reader *r, uint32_t precision, struct moment *m)
{
    bool carry = false;

    if (memchr(r->at, '-', (size_t)(r->end - r->at)) != NULL) {
        uint32_t error = parse_date_time(r, precision, m);
        if (error != ERR_NONE) return error;
        if (m->month != 0 && (m->year < 1970 || m->year > 2106)) return ERR_VALUE_OUT_OF_RANGE;
        uint64_t seconds = m->month != 0 ? days_since_epoch(m) * 86400ull : 0;
        seconds += m->hour * 3600ull + m->minute * 60ull + m->second;
        m->epoch_seconds = (uint32_t)seconds;
        /* The zero date is second 0, and has no other seconds. */
        bool fits = m->month != 0 ? seconds <= UINT32_MAX : seconds == 0 && m->micro == 0;
        return fits ? ERR_NONE : ERR_VALUE_OUT_OF_RANGE;
    }
    if (!is_digit_at(r)) return ERR_VALUE_INVALID;
    if (!read_number(r, 1, 12, &m->epoch_seconds)) return ERR_VALUE_OUT_OF_RANGE;
    if (!read_fraction(r, precision, &m->micro, &carry)) return ERR_VALUE_INVALID;
    if (carry && m->epoch_seconds == UINT32_MAX) return ERR_VALUE_OUT_OF_RANGE;
    m->epoch_seconds += carry;
    return ERR_NONE;
}

static uint32_t parse_clock(struct reader *r, uint32_t precision, struct moment *m)
{
    bool carry = false;

    m->negative = read_char(r, '-');
    if (!read_clock(r, 3, m) || !read_fraction(r, precision, &m->micro, &carry))
        return ERR_VALUE_INVALID;
    if (m->minute > 59 || m->second > 59) return ERR_VALUE_OUT_OF_RANGE;
    if (carry) add_second(m, false);
    if ((m->hour | m->minute | m->second | m->micro) == 0) m->negative = false;
    return ERR_NONE;
}

uint32_t time_parse(const struct column_format *format, const char *text, uint32_t text_size,
                    uint8_t *out)
{
    struct reader r = {text, text + text_size};
    struct moment m = {0};
    uint32_t error = ERR_NONE;

    if (text_size == 0) return ERR_VALUE_INVALID;
    if (format->type == COLUMN_YEAR)
        error = read_number(&r, 1, 4, &m.year) ? ERR_NONE : ERR_VALUE_INVALID;
    else if (format->type == COLUMN_DATE)
        error = read_date(&r, &m) ? ERR_NONE : ERR_VALUE_INVALID;
    else if (is_clock(format->type))
        error = parse_clock(&r, format->precision, &m);
    else if (is_timestamp(format->type))
        error = parse_timestamp(&r, format->precision, &m);
    else
        error = parse_date_time(&r, format->precision, &m);
    if (error != ERR_NONE) return error;
    if (r.at != r.end) return ERR_VALUE_INVALID;
    if (!moment_valid(format, &m)) return ERR_VALUE_OUT_OF_RANGE;
    pack(format, &m, out);
    return ERR_NONE;
}

static uint32_t print_whole(const struct column_format *format, const struct moment *m, char *out)
{
    int length;

    if (format->type == COLUMN_YEAR)
        length = snprintf(out, TIME_TEXT_MAX, "%04u", m->year);
    else if (format->type == COLUMN_DATE)
        length = snprintf(out, TIME_TEXT_MAX, "%04u-%02u-%02u", m->year, m->month, m->day);
    else if (is_clock(format->type))
        length = snprintf(out, TIME_TEXT_MAX, "%s%02u:%02u:%02u", m->negative ? "-" : "", m->hour,
                          m->minute, m->second);
    else if (is_timestamp(format->type))
        length = snprintf(out, TIME_TEXT_MAX, "%u", m->epoch_seconds);
    else
        length = snprintf(out, TIME_TEXT_MAX, "%04u-%02u-%02u/%02u:%02u:%02u", m->year, m->month,
                          m->day, m->hour, m->minute, m->second);
    return (uint32_t)length;
}

uint32_t time_print(const struct column_format *format, const uint8_t *bytes,
                    char out[TIME_TEXT_MAX])
{
    struct moment m;

    if (!unpack(format, bytes, &m)) return UINT32_MAX;
    uint32_t length = print_whole(format, &m, out);
    if (format->precision > 0)
        length += (uint32_t)snprintf(out + length, TIME_TEXT_MAX - length, ".%0*u",
                                     format->precision, m.micro / digit_units[format->precision]);
    return length;
}
