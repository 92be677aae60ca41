/* config_names.h -- the names in a config.ini: of sections, of parameters, of what other versions
 * have, and which name was meant by one that is none. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "config/config.h"

/* The kind that a section's name says, of `length` characters and in any case ("ndbd", "DB");
 * CONFIG_NONE: it is no name. */
enum config_kind config_kind_named(const char *name, size_t length);

/* The name of a section that is the nearest to this one, NULL: none is near. */
const char *config_nearest_section(const char *name, size_t length);

/* The section that has a parameter of this name, other than `kind`; CONFIG_NONE: no other has it.
 */
enum config_kind config_kind_with(enum config_kind kind, const char *name);

/* The name of the section's parameter that is the nearest to this one, NULL: none is near. */
const char *config_nearest_param(enum config_kind kind, const char *name);

/* A parameter of other versions of such systems: it is accepted without effect, or refused when
 * it is on, for a reason. */
struct config_foreign {
    enum config_kind kind;
    const char *name;
    bool refused;
    const char *reason;
};

/* NULL: it is none of them. */
const struct config_foreign *config_foreign_param(enum config_kind kind, const char *name);
