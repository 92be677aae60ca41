/* gsn.h -- signal numbers, sections and senders as constants, made from gsn.def. */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "kernel/base/kernel_signals.h"

#define GSN(number, name, type, smin, smax, from, rule)                                            \
    GSN_##name = (number), name##_SECTIONS_MIN = (smin), name##_SECTIONS_MAX = (smax),             \
    name##_FROM = (from),
#define GSN_KERNEL(number, name, type, smin, smax, from, rule)                                     \
    name##_SECTIONS_MIN = (smin), name##_SECTIONS_MAX = (smax), name##_FROM = (from),
enum gsn {
#include "signals/gsn.def"
};
#undef GSN
#undef GSN_KERNEL

/* First word of a CONTINUEB: which work; an enum of the block. The rest is the block's. */
struct continueb {
    uint32_t work;
};
SIGNAL_STRUCT(continueb, 1);

/* "LQHKEYREQ"; "UNKNOWN" for a number that is not in gsn.def. */
const char *gsn_name(uint32_t gsn);
