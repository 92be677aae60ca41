#!/bin/bash
# shapes.sh -- one cluster after the other: other numbers of nodes, replicas and threads.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

SPLIT='ThreadConfig=main,rep,ldm={count=2},tc={count=2},recv,send'

shape() { # nodes replicas [threads]
    say "$1 data nodes, $2 replicas ${3:-}"
    start_cluster "$@"
    load_and_compare 3000
    drop_awkward
    stop_cluster
}

shape 1 1 "$SPLIT"
shape 2 1
shape 3 3
shape 4 1 "$SPLIT"
shape 4 2 "$SPLIT"
shape 4 4 "$SPLIT"
