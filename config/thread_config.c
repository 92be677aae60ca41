/* thread_config.c -- reads and checks a data node's ThreadConfig. */
/* SPDX-License-Identifier: MIT
 *
 * entry (, entry)*  with  entry := kind [ = { name=value (, name=value)* } ]; blanks are free.
 */
#include "config/thread_config.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct kind_rule {
    const char *name;
    uint32_t min;
    uint32_t max;
    uint32_t def;
    bool executes; /* Its threads run blocks, so they may spin. */
    bool nosend;
};

static const struct kind_rule rules[THREAD_KINDS] = {
    [THREAD_KIND_MAIN] = {"main", 0, 1, 1, true, true},
    [THREAD_KIND_REP] = {"rep", 0, 1, 1, true, true},
    [THREAD_KIND_LDM] = {"ldm", 0, 332, 1, true, true},
    [THREAD_KIND_TC] = {"tc", 0, 160, 0, true, true},
    [THREAD_KIND_RECV] = {"recv", 1, 80, 1, true, false},
    [THREAD_KIND_SEND] = {"send", 0, 80, 0, false, false},
    [THREAD_KIND_IO] = {"io", 1, 1, 1, false, false},
    [THREAD_KIND_WATCHDOG] = {"watchdog", 1, 1, 1, false, false},
};

struct scan {
    const char *at;
    char *why;
    size_t why_size;
};

const char *thread_kind_name(enum thread_kind kind)
{
    return kind < THREAD_KINDS ? rules[kind].name : "unknown";
}

static int fail(struct scan *scan, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(struct scan *scan, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(scan->why, scan->why_size, format, args);
    va_end(args);
    return -1;
}

static void skip_blanks(struct scan *scan)
{
    while (*scan->at == ' ' || *scan->at == '\t')
        scan->at++;
}

static bool take(struct scan *scan, char c)
{
    skip_blanks(scan);
    if (*scan->at != c) return false;
    scan->at++;
    return true;
}

static int take_word(struct scan *scan, char *word, size_t size)
{
    size_t n = 0;

    skip_blanks(scan);
    while (isalnum((unsigned char)*scan->at) || *scan->at == '_') {
        if (n + 1 == size) return fail(scan, "name at \"%.16s\" is too long", scan->at - n);
        word[n++] = *scan->at++;
    }
    word[n] = '\0';
    if (n == 0) return fail(scan, "a name is missing at \"%.16s\"", scan->at);
    return 0;
}

static int take_number(struct scan *scan, const char *name, uint32_t min, uint32_t max,
                       uint32_t *value)
{
    uint64_t sum = 0;

    skip_blanks(scan);
    if (!isdigit((unsigned char)*scan->at)) {
        return fail(scan, "%s needs a number (allowed range %u..%u)", name, min, max);
    }
    for (; isdigit((unsigned char)*scan->at); scan->at++) {
        sum = sum * 10 + (uint64_t)(*scan->at - '0');
        if (sum > max) break;
    }
    if (sum < min || sum > max) {
        return fail(scan, "%s is out of range (allowed range %u..%u)", name, min, max);
    }
    *value = (uint32_t)sum;
    return 0;
}

/* A list like 0-3,5. A comma ends it when no digit follows. */
static int take_cpus(struct scan *scan, const char *name, struct thread_config_entry *entry)
{
    for (;;) {
        uint32_t first;
        uint32_t last;
        if (take_number(scan, name, 0, THREAD_CONFIG_CPU_LAST, &first) != 0) return -1;
        last = first;
        if (take(scan, '-') && take_number(scan, name, first, THREAD_CONFIG_CPU_LAST, &last) != 0) {
            return -1;
        }
        for (uint32_t cpu = first; cpu <= last; cpu++) {
            if (entry->cpu_count == THREAD_CONFIG_CPUS_MAX) {
                return fail(scan, "%s has more than %u CPUs", name, THREAD_CONFIG_CPUS_MAX);
            }
            entry->cpus[entry->cpu_count++] = (uint16_t)cpu;
        }
        const char *next = scan->at + strspn(scan->at, " \t");
        if (*next != ',' || !isdigit((unsigned char)next[1 + strspn(next + 1, " \t")])) return 0;
        scan->at = next + 1;
    }
}

static int take_cpu_param(struct scan *scan, const char *name, struct thread_config_entry *entry)
{
    if (entry->cpu_count > 0) {
        return fail(scan, "%s: only one list of CPUs is allowed per entry", name);
    }
    entry->cpu_each = strncasecmp(name, "cpubind", 7) == 0;
    entry->cpu_exclusive = strlen(name) > 7;
    return take_cpus(scan, name, entry);
}

static int take_setting(struct scan *scan, struct thread_config_entry *entry)
{
    static const char *const cpu_names[] = {"cpubind", "cpubind_exclusive", "cpuset",
                                            "cpuset_exclusive"};
    const struct kind_rule *rule = &rules[entry->kind];
    char name[32];
    uint32_t value;

    if (take_word(scan, name, sizeof(name)) != 0) return -1;
    if (!take(scan, '=')) return fail(scan, "%s needs = and a value", name);
    for (uint32_t i = 0; i < 4; i++) {
        if (strcasecmp(name, cpu_names[i]) == 0) return take_cpu_param(scan, name, entry);
    }
    if (strcasecmp(name, "count") == 0) {
        return take_number(scan, "count", rule->min, rule->max, &entry->count);
    }
    if (strcasecmp(name, "realtime") == 0) {
        if (take_number(scan, name, 0, 1, &value) != 0) return -1;
        entry->realtime = value == 1;
        return 0;
    }
    if (strcasecmp(name, "spintime") == 0) {
        if (!rule->executes) return fail(scan, "spintime is not allowed for %s", rule->name);
        entry->spintime_set = true;
        return take_number(scan, name, 0, 9000, &entry->spintime_us);
    }
    if (strcasecmp(name, "thread_prio") == 0) {
        return take_number(scan, name, 0, 10, &entry->thread_prio);
    }
    if (strcasecmp(name, "nosend") == 0) {
        if (!rule->nosend) return fail(scan, "nosend is not allowed for %s", rule->name);
        if (take_number(scan, name, 0, 1, &value) != 0) return -1;
        entry->nosend = value == 1;
        return 0;
    }
    return fail(scan,
                "unknown setting %s (allowed: count, cpubind, cpubind_exclusive, cpuset, "
                "cpuset_exclusive, realtime, spintime, thread_prio, nosend)",
                name);
}

static int take_entry(struct scan *scan, struct thread_config_entry *entry)
{
    char name[32];

    *entry = (struct thread_config_entry){.count = 1, .thread_prio = THREAD_PRIO_UNSET};
    if (take_word(scan, name, sizeof(name)) != 0) return -1;
    uint32_t kind = 0;
    while (kind < THREAD_KINDS && strcasecmp(name, rules[kind].name) != 0)
        kind++;
    if (kind == THREAD_KINDS) {
        return fail(scan,
                    "unknown thread kind %s (allowed: main, rep, ldm, tc, recv, send, io, "
                    "watchdog)",
                    name);
    }
    entry->kind = (enum thread_kind)kind;
    if (!take(scan, '=')) return 0;
    if (!take(scan, '{')) return fail(scan, "%s needs { after =", name);
    do {
        if (take_setting(scan, entry) != 0) return -1;
    } while (take(scan, ','));
    if (!take(scan, '}')) return fail(scan, "%s needs } at \"%.16s\"", name, scan->at);
    if (entry->realtime && entry->thread_prio != THREAD_PRIO_UNSET) {
        return fail(scan, "%s: realtime and thread_prio exclude each other", name);
    }
    if (entry->cpu_each && entry->cpu_count > 0 && entry->cpu_count < entry->count) {
        return fail(scan, "%s: cpubind has %u CPUs for %u threads", name, entry->cpu_count,
                    entry->count);
    }
    return 0;
}

static int check_counts(struct scan *scan, struct thread_config *config)
{
    bool named[THREAD_KINDS] = {false};

    for (uint32_t i = 0; i < config->entry_count; i++) {
        const struct thread_config_entry *entry = &config->entries[i];
        named[entry->kind] = true;
        config->counts[entry->kind] += entry->count;
    }
    for (uint32_t kind = 0; kind < THREAD_KINDS; kind++) {
        if (!named[kind]) config->counts[kind] = rules[kind].def;
        if (config->counts[kind] < rules[kind].min || config->counts[kind] > rules[kind].max) {
            return fail(scan, "%u threads of kind %s (allowed range %u..%u)", config->counts[kind],
                        rules[kind].name, rules[kind].min, rules[kind].max);
        }
    }
    if (config->counts[THREAD_KIND_MAIN] == 0 && config->counts[THREAD_KIND_REP] > 0) {
        if (named[THREAD_KIND_REP]) return fail(scan, "rep needs main");
        config->counts[THREAD_KIND_REP] = 0;
    }
    return 0;
}

int thread_config_parse(const char *text, struct thread_config *config, char *why, size_t why_size)
{
    struct scan scan = {.at = text, .why = why, .why_size = why_size};

    *config = (struct thread_config){.entry_count = 0};
    skip_blanks(&scan);
    while (*scan.at != '\0') {
        if (config->entry_count == THREAD_CONFIG_ENTRIES_MAX) {
            return fail(&scan, "more than %d entries", THREAD_CONFIG_ENTRIES_MAX);
        }
        if (take_entry(&scan, &config->entries[config->entry_count]) != 0) return -1;
        config->entry_count++;
        skip_blanks(&scan);
        if (*scan.at == '\0') break;
        if (!take(&scan, ',')) return fail(&scan, "a comma is missing at \"%.16s\"", scan.at);
        skip_blanks(&scan);
        if (*scan.at == '\0') return fail(&scan, "an entry is missing after the last comma");
    }
    return check_counts(&scan, config);
}
