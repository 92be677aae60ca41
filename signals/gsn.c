/* gsn.c -- the names of all signals. */
/* SPDX-License-Identifier: MIT */
#include "signals/gsn.h"

const char *gsn_name(uint32_t gsn)
{
    switch (gsn) {
#define GSN(number, name, type, smin, smax, from, rule)                                            \
    case number:                                                                                   \
        return #name;
#define GSN_KERNEL GSN
#include "signals/gsn.def"
#undef GSN
#undef GSN_KERNEL
    default:
        return "UNKNOWN";
    }
}
