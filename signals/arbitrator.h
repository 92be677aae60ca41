/* arbitrator.h -- an arbitrator's memory: what it said to whom. For management servers and clients.
 */
/* SPDX-License-Identifier: MIT */
#pragma once
#include "signals/arbit.h"

/* A ticket, and who has had a yes with it. */
struct arbitrator_ticket {
    uint32_t words[2]; /* The ticket; 0, 0: none. */
    uint32_t given;
    struct node_mask granted;
};

/* Zeroed: nobody's arbitrator. Not thread-safe; the owner calls it from one thread at a time. */
struct arbitrator {
    struct arbitrator_ticket ticket;
    /* The ticket before; it counts until somebody has asked with the new one. */
    struct arbitrator_ticket former;
};

/*
 * Takes a ticket. The one that it has already stays as it is: the question may come twice. The
 * former one counts until the new one has been asked with: not all may have the new one yet. */
void arbitrator_start(struct arbitrator *arbitrator, const struct arbit_start_req *req);

/*
 * May the survivors that ask go on? Yes to the first, and afterwards only to a part of those that
 * had the last yes, with either ticket: that part replaces them. No to another ticket.
 */
bool arbitrator_choose(struct arbitrator *arbitrator, const struct arbit_choose_req *req);
