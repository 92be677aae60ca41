/* fake_fixture.h -- one fake cluster per test: setup and teardown; FC_VERBOSE in the environment
 * shows the logs. */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "tests/unit/fake_workers.h"

static struct fake_cluster *fc;

static int setup(void **state)
{
    (void)state;
    fc = malloc(sizeof *fc);
    fc_init(fc);
    fc->verbose = getenv("FC_VERBOSE") != NULL;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fc_check(fc);
    fc_destroy(fc);
    free(fc);
    return 0;
}
