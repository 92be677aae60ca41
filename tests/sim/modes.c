/* modes.c -- names of the modes, and pairs of them that are refused. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/sim/modes.h"
#include <stdio.h>
#include <string.h>

static const char *const names[MODE_COUNT] = {
#define MODE(NAME, option, letter, help) [MODE_##NAME] = #option,
#include "tests/sim/modes.def"
#undef MODE
};

#define WITH(mode)   (1u << MODE_##mode)
#define FILES_OR_NOT (WITH(DISK) | WITH(DISKLESS))
#define LOSSES       (WITH(FAILURES) | WITH(REJOIN))

/* What a mode goes together with, and why with nothing else. Of two modes the later one says it. */
static const struct {
    uint32_t with;
    const char *why;
} goes[MODE_COUNT] = {
    [MODE_DISK] = {LOSSES | WITH(TAMPER) | WITH(HOSTILE) | WITH(FULL) | WITH(BATCHES) | WITH(YOUNG),
                   ""},
    [MODE_DISKLESS] = {LOSSES | WITH(HOSTILE) | WITH(STARVED) | WITH(FULL),
                       "nodes have files or they have none"},
    [MODE_FAILURES] = {FILES_OR_NOT | WITH(FULL), ""},
    [MODE_REJOIN] = {FILES_OR_NOT | WITH(FULL) | WITH(BATCHES),
                     "whoever is lost comes back or stays away"},
    [MODE_SPOIL] = {0, "its nodes have files, are lost and come back already"},
    [MODE_TAMPER] = {WITH(DISK),
                     "damaged words may cost the cluster, which has to come back from files"},
    [MODE_OPERATOR] = {0, "the operator's nodes have files, are lost and begin again as he says"},
    [MODE_HOSTILE] = {FILES_OR_NOT, "the others need not survive two faults at once"},
    [MODE_STARVED] = {WITH(DISKLESS), "nothing else is the matter with nodes that are starved"},
    [MODE_FULL] = {FILES_OR_NOT | LOSSES, "it is drawn for losses of nodes and of the cluster"},
    [MODE_BATCHES] = {0, "large batches are for plain runs, files, and losses that come back"},
    [MODE_YOUNG] = {0, "in its first moments nothing else happens to the cluster"},
};

const char *mode_name(enum sim_mode mode)
{
    return names[mode];
}

bool mode_find(const char *name, enum sim_mode *mode)
{
    for (uint32_t i = 0; i < MODE_COUNT; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *mode = (enum sim_mode)i;
        return true;
    }
    return false;
}

bool modes_fit(uint32_t modes, char *text, size_t size)
{
    for (uint32_t i = 0; i < MODE_COUNT; i++) {
        for (uint32_t j = i + 1u; j < MODE_COUNT; j++) {
            if ((modes >> i & modes >> j & 1u) == 0 || (goes[i].with >> j & 1u) != 0) continue;
            snprintf(text, size, "--%s and --%s do not go together: %s.", names[i], names[j],
                     goes[j].why);
            return false;
        }
    }
    return true;
}

void modes_print(uint32_t modes, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < MODE_COUNT; i++) {
        if ((modes & 1u << i) == 0 || used >= size) continue;
        used += (size_t)snprintf(text + used, size - used, " --%s", names[i]);
    }
}
