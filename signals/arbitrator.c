/* arbitrator.c -- an arbitrator's memory: what it said to whom. */
/* SPDX-License-Identifier: GPL-2.0-only */
#include "signals/arbitrator.h"

static bool is_mine(const struct arbitrator *arbitrator, const uint32_t ticket[2])
{
    return arbitrator->ticket[0] == ticket[0] && arbitrator->ticket[1] == ticket[1] &&
           (ticket[0] | ticket[1]) != 0;
}

void arbitrator_start(struct arbitrator *arbitrator, const struct arbit_start_req *req)
{
    if (is_mine(arbitrator, req->ticket)) return;
    *arbitrator = (struct arbitrator){.ticket = {req->ticket[0], req->ticket[1]}};
}

bool arbitrator_choose(struct arbitrator *arbitrator, const struct arbit_choose_req *req)
{
    if (!is_mine(arbitrator, req->ticket) || node_mask_empty(&req->survivors)) return false;
    if (arbitrator->given && !node_mask_within(&req->survivors, &arbitrator->granted)) return false;
    arbitrator->given = 1;
    arbitrator->granted = req->survivors;
    return true;
}
