#!/bin/bash
# table_tools.sh -- the tools that work on whole tables, against two data nodes.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"
start_cluster 2 2

rows_of() { "$BIN/ndb_select_count" -d test "$1" | sed -nE 's/^([0-9]+) records.*/\1/p'; }

# has_rows TABLE COUNT
has_rows() { [ "$(rows_of "$1")" = "$2" ] || fail "table $1 has $(rows_of "$1") rows instead of $2"; }

want 0 "$BIN/ndb_create_table" --execute="$AWKWARD_TABLE"
awkward_rows 5000 >"$BOX/awkward.csv"
load() { want 0 "$BIN/ndb_import" --rejects="$BOX/awkward.rej" test "$BOX/awkward.csv"; }

say "ndb_delete_all"
load
want 0 "$BIN/ndb_delete_all" -d test awkward
want_text out '^Deleting all from awkward \(non-transactional\) \.\.\.$'
has_rows awkward 0
want 0 "$BIN/ndb_delete_all" -d test awkward # An empty table is one, too.
load
want 0 "$BIN/ndb_delete_all" -t --tupscan --format=json test.awkward
want_text out '"deleted":[[:space:]]*5000'
has_rows awkward 0
load
want 1 "$BIN/ndb_delete_all" -d test awkward nothing
want_text err '^test/nothing: 723: '
has_rows awkward 0
want 2 "$BIN/ndb_delete_all"
want 2 "$BIN/ndb_delete_all" --diskscan awkward # No column of this cluster is on disk.

stop_cluster
