/* link_level.h -- how full the send buffer of a link is, as the kernel and the transporters both
 * call it. */
/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * HIGH: 60 % of OVERLOAD. OVERLOAD: 80 % of the link's SendBufferMemory (or OverloadLimit): no new
 * work that sends there. FULL: all of it; what is already under way finishes in a reserve, behind
 * which the link is closed.
 */
enum link_level { LINK_NORMAL = 0, LINK_HIGH = 1, LINK_OVERLOAD = 2, LINK_FULL = 3 };
