/* modes.h -- the modes of a run by number and name, and which of them go together. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_mode {
#define MODE(NAME, option, letter, help) MODE_##NAME,
#include "tests/sim/modes.def"
#undef MODE
    MODE_COUNT
};

const char *mode_name(enum sim_mode mode);
bool mode_find(const char *name, enum sim_mode *mode);

/* Sets of modes have a bit for each: 1 << mode. False: they make no sense together, `text` is the
 * sentence that says why. */
bool modes_fit(uint32_t modes, char *text, size_t size);
/* As options: " --disk --rejoin", or nothing. */
void modes_print(uint32_t modes, char *text, size_t size);
