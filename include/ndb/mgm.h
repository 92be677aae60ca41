/* mgm.h -- the C management API: talk to ndb_mgmd about configuration, nodes, events. */
/* SPDX-License-Identifier: MIT
 *
 * A handle is one connection to one management server. It may be used by one thread at a time;
 * different handles are independent. Calls block, at most for the handle's timeout. Functions
 * return 0 (or a count) or -1; ndb_mgm_error_code() and _text() then say why. Nothing here prints,
 * exits or raises signals.
 */
#pragma once

#include "ndb/mgm_base.h"
#include "ndb/mgm_report.h"
#include "ndb/mgm_connection.h"
#include "ndb/mgm_configuration.h"
#include "ndb/mgm_order.h"
#include "ndb/mgm_log.h"
