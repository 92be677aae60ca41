/* fake_fixture.h -- one fake cluster per test: setup and teardown; FC_VERBOSE in the environment
 * shows the logs. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "tests/unit/support/fake_workers.h"

extern struct fake_cluster *fc_fc;
int fc_setup(void **state);
int fc_teardown(void **state);
