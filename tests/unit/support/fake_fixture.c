/* fake_fixture.c -- one fake cluster per test: setup and teardown; FC_VERBOSE in the environment
 * shows the logs. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "tests/unit/support/fake_fixture.h"

struct fake_cluster *fc_fc;

int fc_setup(void **state)
{
    (void)state;
    fc_fc = malloc(sizeof *fc_fc);
    fc_init(fc_fc);
    fc_fc->verbose = getenv("FC_VERBOSE") != NULL;
    return 0;
}

int fc_teardown(void **state)
{
    (void)state;
    fc_check(fc_fc);
    fc_destroy(fc_fc);
    free(fc_fc);
    return 0;
}
