/* fake_versions.h -- tables whose first version is known: else it is a random number. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "blocks/dbdict/dict_state.h"

/* As if each number had been used as often as can be: behind that comes 1. */
void fake_versions_from_one(struct dict *dict);
