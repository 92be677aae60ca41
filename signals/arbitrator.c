/* arbitrator.c -- an arbitrator's memory: what it said to whom. */
/* SPDX-License-Identifier: MIT */
#include "signals/arbitrator.h"

static bool is_mine(const struct arbitrator_ticket *mine, const uint32_t ticket[2])
{
    return mine->words[0] == ticket[0] && mine->words[1] == ticket[1] &&
           (ticket[0] | ticket[1]) != 0;
}

void arbitrator_start(struct arbitrator *arbitrator, const struct arbit_start_req *req)
{
    if (is_mine(&arbitrator->ticket, req->ticket)) return;
    arbitrator->former = arbitrator->ticket;
    arbitrator->ticket = (struct arbitrator_ticket){.words = {req->ticket[0], req->ticket[1]}};
}

static bool grant(struct arbitrator_ticket *ticket, const struct node_mask *survivors)
{
    if (ticket->given && !node_mask_within(survivors, &ticket->granted)) return false;
    ticket->given = 1;
    ticket->granted = *survivors;
    return true;
}

bool arbitrator_choose(struct arbitrator *arbitrator, const struct arbit_choose_req *req)
{
    static const struct arbitrator_ticket none;
    if (node_mask_empty(&req->survivors)) return false;
    if (is_mine(&arbitrator->ticket, req->ticket)) {
        if (!grant(&arbitrator->ticket, &req->survivors)) return false;
        arbitrator->former = none;
        return true;
    }
    if (!is_mine(&arbitrator->former, req->ticket) || !grant(&arbitrator->former, &req->survivors))
        return false;
    arbitrator->ticket.given = 1; /* Only a part of these may come with the new one. */
    arbitrator->ticket.granted = req->survivors;
    return true;
}
