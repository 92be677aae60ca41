/* arbitrator.h -- an arbitrator's memory: what it said to whom. For management servers and clients.
 */
/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "signals/arbit.h"

/* Zeroed: nobody's arbitrator. Not thread-safe; the owner calls it from one thread at a time. */
struct arbitrator {
    uint32_t ticket[2]; /* 0, 0 = none. */
    uint32_t given;     /* Somebody has had a yes with this ticket. */
    struct node_mask granted;
};

/* Takes a ticket. The one that it has already stays as it is: the question may come twice. */
void arbitrator_start(struct arbitrator *arbitrator, const struct arbit_start_req *req);

/*
 * May the survivors that ask go on? Yes to the first, and afterwards only to a part of those that
 * had the last yes: that part replaces them. No to another ticket.
 */
bool arbitrator_choose(struct arbitrator *arbitrator, const struct arbit_choose_req *req);
