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

static const struct {
    enum sim_mode one, other;
    const char *why;
} apart[] = {
    {MODE_DISK, MODE_DISKLESS, "nodes have files or they have none"},
    {MODE_FAILURES, MODE_REJOIN, "whoever is lost comes back or stays away"},
    {MODE_SPOIL, MODE_DISK, "it has files already"},
    {MODE_SPOIL, MODE_DISKLESS, "there have to be files"},
    {MODE_SPOIL, MODE_FAILURES, "whoever is lost comes back"},
    {MODE_SPOIL, MODE_REJOIN, "whoever is lost comes back already"},
    {MODE_SPOIL, MODE_TAMPER, "no loss is sure to be survived when words are damaged"},
    {MODE_SPOIL, MODE_OPERATOR, "each of the two says how whoever is lost begins again"},
    {MODE_SPOIL, MODE_HOSTILE, "the others need not survive two faults at once"},
    {MODE_TAMPER, MODE_DISKLESS,
     "damaged words may cost the cluster, and what was durable has to come back from files"},
    {MODE_TAMPER, MODE_FAILURES, "no loss is sure to be survived when words are damaged"},
    {MODE_HOSTILE, MODE_TAMPER, "one node's words are damaged or everybody's"},
    {MODE_HOSTILE, MODE_FAILURES, "the others need not survive two faults at once"},
    {MODE_HOSTILE, MODE_REJOIN, "the others need not survive two faults at once"},
    {MODE_TAMPER, MODE_REJOIN, "no loss is sure to be survived when words are damaged"},
    {MODE_STARVED, MODE_DISK, "what they wait for is a processor, and not a disk"},
    {MODE_STARVED, MODE_FAILURES, "who is only starved is not lost"},
    {MODE_STARVED, MODE_REJOIN, "who is only starved is not lost"},
    {MODE_STARVED, MODE_TAMPER, "nothing else is the matter with the nodes"},
    {MODE_STARVED, MODE_HOSTILE, "nothing else is the matter with the nodes"},
    {MODE_STARVED, MODE_OPERATOR, "nothing else is the matter with the nodes"},
    {MODE_OPERATOR, MODE_HOSTILE, "the others need not survive two faults at once"},
    {MODE_OPERATOR, MODE_DISK, "an operator's nodes have files always"},
    {MODE_OPERATOR, MODE_DISKLESS, "--initial means nothing without files"},
    {MODE_OPERATOR, MODE_FAILURES, "whoever is lost is started again"},
    {MODE_OPERATOR, MODE_REJOIN, "whoever is lost is started again by the operator"},
    {MODE_OPERATOR, MODE_TAMPER, "no loss is sure to be survived when words are damaged"},
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
    for (size_t i = 0; i < sizeof apart / sizeof apart[0]; i++) {
        uint32_t pair = 1u << apart[i].one | 1u << apart[i].other;
        if ((modes & pair) != pair) continue;
        snprintf(text, size, "--%s and --%s do not go together: %s.", names[apart[i].one],
                 names[apart[i].other], apart[i].why);
        return false;
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
