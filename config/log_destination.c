/* log_destination.c -- reads and checks a management server's LogDestination. */
/* SPDX-License-Identifier: MIT */
#include "config/log_destination.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"

#define DEFAULT_MAX_SIZE  1000000u
#define DEFAULT_MAX_FILES 6u
#define MAX_FILES         1000u

static const char facilities[] =
    " auth authpriv cron daemon ftp kern lpr mail news syslog user uucp "
    "local0 local1 local2 local3 local4 local5 local6 local7 ";

static int set_file_key(struct log_target *target, const char *key, const char *value, char *why,
                        size_t size)
{
    uint64_t number = 0;
    bool number_ok = config_number_parse(value, &number) == 0;

    if (strcasecmp(key, "filename") == 0) {
        if (value[0] == '\0' || strlen(value) >= sizeof(target->filename)) {
            (void)snprintf(why, size, "filename is empty or too long");
            return -1;
        }
        if (strchr("\"'", value[0]) != NULL) {
            (void)snprintf(why, size, "filename=%.64s is in quotes: leave them out", value);
            return -1;
        }
        (void)snprintf(target->filename, sizeof(target->filename), "%s", value);
        return 0;
    }
    if (strcasecmp(key, "maxsize") == 0) {
        if (!number_ok || number < LOG_FILE_SIZE_MIN || number > CFG_GB(1024)) {
            (void)snprintf(why, size, "maxsize=%.32s is wrong (allowed range 4K..1024G bytes)",
                           value);
            return -1;
        }
        target->max_size = number;
        return 0;
    }
    if (strcasecmp(key, "maxfiles") == 0) {
        if (!number_ok || number < 1 || number > MAX_FILES) {
            (void)snprintf(why, size, "maxfiles=%.32s is wrong (allowed range 1..%u)", value,
                           MAX_FILES);
            return -1;
        }
        target->max_files = (uint32_t)number;
        return 0;
    }
    (void)snprintf(why, size, "unknown key %.32s (allowed: filename, maxsize, maxfiles)", key);
    return -1;
}

static int set_key(struct log_target *target, const char *key, const char *value, char *why,
                   size_t size)
{
    char padded[20];

    switch (target->kind) {
    case LOG_TARGET_FILE:
        return set_file_key(target, key, value, why, size);
    case LOG_TARGET_SYSLOG:
        (void)snprintf(padded, sizeof(padded), " %.15s ", value);
        if (strcasecmp(key, "facility") != 0) {
            (void)snprintf(why, size, "unknown key %.32s (allowed: facility)", key);
            return -1;
        }
        if (strlen(value) > 8 || value[0] == '\0' || strstr(facilities, padded) == NULL) {
            (void)snprintf(why, size, "unknown facility %.32s (allowed:%.*s)", value,
                           (int)sizeof(facilities) - 2, facilities);
            return -1;
        }
        (void)snprintf(target->facility, sizeof(target->facility), "%s", value);
        return 0;
    case LOG_TARGET_CONSOLE:
        break;
    }
    (void)snprintf(why, size, "CONSOLE takes no keys");
    return -1;
}

static int parse_target(char *text, struct log_target *target, char *why, size_t size)
{
    char *colon = strchr(text, ':');

    *target = (struct log_target){.max_size = DEFAULT_MAX_SIZE, .max_files = DEFAULT_MAX_FILES};
    (void)snprintf(target->facility, sizeof(target->facility), "user");
    if (colon != NULL) *colon = '\0';
    if (strcasecmp(text, "FILE") == 0) {
        target->kind = LOG_TARGET_FILE;
    } else if (strcasecmp(text, "SYSLOG") == 0) {
        target->kind = LOG_TARGET_SYSLOG;
    } else if (strcasecmp(text, "CONSOLE") == 0) {
        target->kind = LOG_TARGET_CONSOLE;
    } else {
        (void)snprintf(why, size, "unknown target %.32s (allowed: CONSOLE, SYSLOG, FILE)", text);
        return -1;
    }
    for (char *at = colon == NULL ? NULL : colon + 1; at != NULL;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) *comma = '\0';
        char *equals = strchr(at, '=');
        if (equals == NULL) {
            (void)snprintf(why, size, "\"%.32s\" is not key=value", at);
            return -1;
        }
        *equals = '\0';
        if (set_key(target, at, equals + 1, why, size) != 0) return -1;
        at = comma == NULL ? NULL : comma + 1;
    }
    return 0;
}

int log_destination_parse(const char *text, struct log_destination *destination, char *why,
                          size_t why_size)
{
    char copy[1100];

    *destination = (struct log_destination){.count = 0};
    if (strlen(text) >= sizeof(copy)) {
        (void)snprintf(why, why_size, "it is too long");
        return -1;
    }
    (void)snprintf(copy, sizeof(copy), "%s", text[0] == '\0' ? "FILE" : text);
    for (char *at = copy; at != NULL;) {
        char *next = strchr(at, ';');
        if (next != NULL) *next++ = '\0';
        if (destination->count == LOG_TARGETS_MAX) {
            (void)snprintf(why, why_size, "it has more than %d targets", LOG_TARGETS_MAX);
            return -1;
        }
        if (parse_target(at, &destination->targets[destination->count], why, why_size) != 0) {
            return -1;
        }
        destination->count++;
        at = next;
    }
    return 0;
}
