#!/bin/bash
# guides.sh -- the commands of docs/operating.md and docs/coming-from-ndb.md, taken out of the pages and typed in their order, on a
# cluster of two data nodes with angels. What the pages say that somebody does by hand between two commands is done here.
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: guides.sh BIN_DIR SOURCE_DIR
SOURCE=$(readlink -f "${2:?usage: guides.sh BIN_DIR SOURCE_DIR}")
source "$(dirname "$0")/cluster.sh"
export PATH=$BIN:$PATH

# commands PAGE SECTION: those of its blocks, one a line.
commands() {
    awk -v section="## $2" '/^## / { here = $0 == section } /^```/ { on = here && $0 == "```console"; next }
        on && sub(/^\$ /, "")' "$SOURCE/docs/$1.md"
}

TYPED=0
type_in() { # COMMAND: as the page has it, but for the places of files
    local command=${1//\/var\/lib\/ndb/$BOX\/mgm}
    TYPED=$((TYPED + 1))
    want 0 bash -c "$command"
    note_processes
}

# What has gone to the background is ended with the test.
note_processes() {
    local file
    for file in "$BOX"/mgm/ndb_*.pid "$BOX"/node*/ndb_*.pid; do
        [ -s "$file" ] && PIDS+=("$(cat "$file")")
    done
}

# stopped PID_FILE: until the process that it names has ended.
stopped() {
    local pid
    pid=$(cat "$1" 2>/dev/null) || return 0
    for _ in $(seq 900); do
        [ -n "$(ours "$pid")" ] || return 0
        sleep 0.1
    done
    fail "$1: process $pid does not end"
}

stop_mgmd() {
    kill "$(cat "$BOX/mgm/ndb_49.pid")"
    stopped "$BOX/mgm/ndb_49.pid"
}

arbitrator_there() {
    for _ in $(seq 900); do
        run ndb_mgm -e SHOW | grep -q '^Arbitrator: ' && return 0
        sleep 0.1
    done
    fail "nobody is arbitrator"
}

start_by_page() {
    local command
    while IFS= read -r command; do
        case "$command" in
        *STOP* | *SHUTDOWN*) return ;; # The next block.
        ndbmtd) type_in "$command" ;&  # On both hosts.
        *) type_in "$command" ;;
        esac
    done < <(commands operating 'Configure and start')
}

write_config 2 2
say "configure and start"
start_by_page
want_text out 'id=2.*Nodegroup: 0'
arbitrator_there

say "coming from NDB: a config.ini, a definition, rows"
cat >item.sql <<'END'
CREATE TABLE `shop`.`item` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci DEFAULT NULL,
  `price` decimal(10,2) DEFAULT '0.00',
  PRIMARY KEY (`id`),
  UNIQUE KEY `by_name` (`name`),
  KEY `by_price` (`price`)
) ENGINE=ndbcluster AUTO_INCREMENT=8 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
END
printf '1\tball\t1.50\n2\ttea\\tcup\t\\N\n' >item.txt
for section in 'Move a config.ini' 'Move data today'; do
    while IFS= read -r command; do type_in "$command"; done < <(commands coming-from-ndb "$section")
done
want_text out '^2 records in table item$'

say "size"
while IFS= read -r command; do type_in "$command"; done < <(commands operating Size)
want_text out '^-- Per partition info --'

say "stop, and start again: the rows are there"
while IFS= read -r command; do
    case "$command" in *STOP* | *SHUTDOWN*) type_in "$command" ;; esac
done < <(commands operating 'Configure and start')
for file in "$BOX"/mgm/ndb_49.pid "$BOX"/node[12]/ndb_[12].pid; do stopped "$file"; done
start_by_page
arbitrator_there
want 0 ndb_select_count -d shop item
want_text out '^2 records in table item$'

say "a changed configuration"
sed -i 's/^DataMemory=80M/DataMemory=96M/' config.ini
stop_mgmd
while IFS= read -r command; do
    case "$command" in
    *--reload) type_in "$command" ;;
    *ROLLING*) arbitrator_there && type_in "$command" ;;
    esac
done < <(commands operating 'Configure and start')
want_text out '^All 2 data nodes have been restarted'
want 0 ndb_mgm -e 'ALL REPORT MEMORY'
want_text out '^Node 1: Data usage .* of total 3072\)$'

say "watch"
while IFS= read -r command; do type_in "$command"; done < <(commands operating Watch)
want_text out '^ndb_top: node [12]'

say "back up, and bring back"
while IFS= read -r command; do
    case "$command" in ndb_import*) want 0 ndb_delete_all -d shop item ;; esac
    type_in "$command"
done < <(commands operating 'Back up')
want_text out '^shop.item: 2 rows imported, 0 rejected'

say "upgrade and replace a node"
start_again() { # SECTION: the former process has ended when the page starts another one
    while IFS= read -r command; do
        case "$command" in ndbmtd*) stopped "$BOX/node2/ndb_2.pid" ;; esac
        type_in "$command"
    done < <(commands operating "$1")
}
start_again Upgrade
want_text out '^Node 2: STARTED'
want 0 ndb_mgm -e '2 STOP'
start_again 'Replace a node'
want_text out '^Node 2: STARTED'
want 0 ndb_select_count -d shop item
want_text out '^2 records in table item$'
echo "$TYPED commands typed"
[ "$TYPED" -ge 30 ] || fail "the pages have lost their commands"
want 0 ndb_mgm -e SHUTDOWN
