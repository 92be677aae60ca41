#!/bin/bash
# memcached_config.sh -- what memcached servers find in the cluster: made, shown, checked, changed, and what is refused.
# SPDX-License-Identifier: GPL-2.0-only
source "$(dirname "$0")/cluster.sh"

CONFIG=$BIN/ndb_memcached_config
client() { run "$BIN/mc_config_client" "$CS" "$@"; }

# refused REGEX: what `check` says of role bad, and a server that loads it; the prefix is dropped then.
refused() {
    want 1 "$CONFIG" check bad
    want_text out "^key prefix \"x:\" of role bad is refused: $1"
    want_text out '^Role bad: 1 key prefixes, 1 refused$'
    want 0 "$BIN/mc_config_client" "$CS" load bad
    want_text out "^key prefix \"x:\" of role bad is refused: $1"
    want_text out "^prefix '': 1 1 1 flush 0 cluster 0 container -$"
    want 0 "$CONFIG" drop-prefix bad x:
}

# wrong_prefix REGEX ARGUMENT...: is not added, and with --force it is refused when it is loaded.
wrong_prefix() {
    local reason=$1
    shift
    want 1 "$CONFIG" add-prefix bad x: "$@"
    want_text err "^key prefix \"x:\" of role bad is refused: $reason"
    want 0 "$CONFIG" add-prefix bad x: "$@" --force
    want_text out '^Servers of role bad load anew\.$'
    refused "$reason"
}

# wrong_container REGEX OPTION...: the same of a container.
wrong_container() {
    local reason=$1
    shift
    want 1 "$CONFIG" add-container wrong "$@"
    want_text err "^container \"wrong\": $reason"
    want 0 "$CONFIG" add-container wrong "$@" --force
    want 0 "$CONFIG" add-prefix bad x: ndb-only wrong --force
    refused "container \"wrong\": $reason"
    want 0 "$CONFIG" drop-container wrong
}

# versions VERSION...: of application ndbmemcache.
versions() {
    want 0 "$BIN/ndb_delete_all" -d ndbmemcache meta
    printf 'other,1.2\n' >"$BOX/meta.csv"
    printf 'ndbmemcache,%s\n' "$@" >>"$BOX/meta.csv"
    want 0 "$BIN/ndb_import" ndbmemcache "$BOX/meta.csv"
}

say "arguments"
for wrong in "" bake "show more" "add-prefix a b" "add-container a" "add-container a --table=b.c" "reload" \
    "show --format=xml" "add-prefix a b c d --cluster=x" "show --ndb-nodeid=999"; do
    # shellcheck disable=SC2086
    want 2 "$CONFIG" $wrong
done
want 1 "$CONFIG" -c 127.0.0.1:1 --connect-retries=0 show
want_text err '^unable to connect to a management server: [0-9]+: '

start_cluster 2 2

say "nothing is there"
for command in show check "add-prefix default_role x: caching c" "drop-prefix a b" "drop-container a" "drop-policy a" \
    "add-policy a caching caching caching"; do
    # shellcheck disable=SC2086
    want 1 "$CONFIG" $command
    want_text err '^table ndbmemcache\.[a-z_]+ \(ndb_memcached_config bootstrap makes it\): 723: '
done
want 1 "$CONFIG" reload default_role
want_text err '^table ndbmemcache\.memcache_server_roles: 723: '
want 1 "$BIN/mc_config_client" "$CS" load default_role
want_text out '^not loaded: table ndbmemcache\.meta .*723: '
want 1 "$BIN/mc_config_client" "$CS" stamp default_role

say "bootstrap, twice; and what was dropped does not come back"
want 0 "$CONFIG" bootstrap
want_text out '^created table ndbmemcache\.external_values$'
want_text out '^inserted into ndbmemcache\.key_prefixes: role 0 "b:"$'
[ "$(grep -c '^created' "$BOX/out")" -eq 11 ] || fail "not 11 tables"
[ "$(grep -c '^inserted' "$BOX/out")" -eq 28 ] || fail "$(grep -c '^inserted' "$BOX/out") rows"
want 0 "$CONFIG" show
grep -v '^Server' "$BOX/out" >"$BOX/shown"
want 0 "$CONFIG" bootstrap
[ "$(cat "$BOX/out")" = 'Schema ndbmemcache is there.' ] || fail "the second one makes something: $(cat "$BOX/out")"
want 0 "$CONFIG" show
cmp -s "$BOX/out" "$BOX/shown" || fail "the second one changes something"
want 0 "$CONFIG" drop-prefix large ''
want 0 "$BIN/ndb_drop_table" -d ndbmemcache demo_table_tabs
want 0 "$CONFIG" bootstrap
printf '%s\n' 'created table ndbmemcache.demo_table_tabs' 'Schema ndbmemcache is there.' | cmp -s - "$BOX/out" ||
    fail "what was dropped: $(cat "$BOX/out")"
want 0 "$CONFIG" add-prefix large '' ndb-test demo_ext
want 0 "$BIN/ndb_delete_all" -d ndbmemcache meta # As if it had been interrupted.
want 0 "$CONFIG" bootstrap
printf '%s\n' 'inserted into ndbmemcache.meta: ndbmemcache' 'Schema ndbmemcache is there.' | cmp -s - "$BOX/out" ||
    fail "what was interrupted: $(cat "$BOX/out")"
want 0 "$BIN/ndb_desc" -d ndbmemcache memcache_server_roles
want_text out '^update_timestamp Timestamp2\(6\) NOT NULL'

say "show and check"
want 0 "$CONFIG" show
cat "$BOX/out"
want_text out '^Role default_role \(0\), max_tps 100000, changed 20[0-9-]+ [0-9:]+\.[0-9]{6} UTC$'
want_text out '^  "mc:": policy memcache-only, no container$'
want_text out '^  "t:": policy ndb-test, container demo_tabs$'
want_text out '^Policy ndb-test: get ndb_only, set ndb_only, delete ndb_only, flush_all deletes the rows$'
want_text out '^Container demo_table: table ndbmemcache.demo_table$'
want_text out '^  key mkey; value string_value; flags flags; increment math_value; cas cas_value$'
want_text out '^  key mkey; value string_value; flags flags; cas cas_value; large values ndbmemcache.external_values$'
want_text out '^Cluster 0: the primary one, round trip 250 us$'
want 0 "$CONFIG" show --format=json
one_line
want_text out '"metadata_version":"1.2"'
want_text out '\{"server_role_id":0,"key_prefix":"mc:","cluster_id":0,"policy":"memcache-only","container":null\}'
want_text out '\{"role_name":"large","role_id":4,"max_tps":100000,"update_timestamp":"[0-9]+\.[0-9]{6}"\}'
want 0 "$CONFIG" check
want_text out '^Role default_role: 4 key prefixes, 0 refused$'
want_text out '^Role large: 1 key prefixes, 0 refused$'
[ "$(wc -l <"$BOX/out")" -eq 5 ] || fail "check of all roles: $(cat "$BOX/out")"
want 1 "$CONFIG" check db-only nobody
want_text out '^Role db-only: 3 key prefixes, 0 refused$'
want_text err '^there is no role "nobody" in ndbmemcache.memcache_server_roles$'
want 1 "$CONFIG" check --format=json nobody db-only
one_line
want_text out '\{"role":"nobody","refused":\[\],"error":"there is no role .*\{"role":"db-only","refused":\[\],"prefixes":3\}'

say "a server loads it"
want 0 "$BIN/mc_config_client" "$CS" load default_role
cat "$BOX/out"
want_text out '^config 3 of role default_role \(0\): max_tps 100000, 1 clusters, stamp same$'
want_text out "^prefix '': 2 2 2 flush 1 cluster 0 container demo_table$"
want_text out "^prefix 'mc:': 1 1 1 flush 0 cluster 0 container -$"
want_text out '^container demo_table: primary\(\) key=mkey value=string_value flags=flags increment=math_value cas=cas_value constant=0 dup=1$'
want_text out '^container demo_tabs: primary\(\) key=mkey value=val1 value=val2 value=val3 flags=flags expire=expire_time constant=0 dup=0$'
want_text out '^container demo_ext: .*ext_id=ext_id ext_size=ext_size part_id=id part_number=part part_content=content part_bytes=13950$'
want 0 "$BIN/mc_config_client" "$CS" load ndb-caching
want_text out "^prefix 't:': 3 3 3 flush 0 cluster 0 container demo_tabs$"
want 0 "$BIN/mc_config_client" "$CS" stamp default_role
want_text out '^stamp: all is right$'
want 1 "$BIN/mc_config_client" "$CS" stamp nobody
want 0 "$BIN/mc_config_client" "$CS" sign_on db-only
want 0 "$CONFIG" show
want_text out '^Server 77 on second\.example: role db-only, signed on 20[0-9-]+ [0-9:]+ UTC$'
[ "$(grep -c '^Server' "$BOX/out")" -eq 1 ] || fail "signed on twice"

run "$CONFIG" show >/dev/full 2>"$BOX/err" && fail "show into a full file succeeds"
want_text err '^ndb_memcached_config: output: '

say "reload"
stamp_of() { run "$CONFIG" show | sed -nE "s/^Role $1 .*changed (.*)/\1/p"; }
before=$(stamp_of db-only)
other=$(stamp_of mc-only)
want 0 "$CONFIG" reload db-only
want_text out '^Servers of role db-only load anew\.$'
[ "$(stamp_of db-only)" != "$before" ] || fail "reload does not change update_timestamp"
[ "$(stamp_of mc-only)" = "$other" ] || fail "reload changes another role's update_timestamp"
want 1 "$CONFIG" reload nobody
want_text err '^there is no role "nobody"'

say "add and drop"
cat >"$BOX/tables.sql" <<'END'
CREATE TABLE shop.user (id INT UNSIGNED NOT NULL, part INT NOT NULL, mail VARCHAR(60), town VARCHAR(30), street VARCHAR(30),
    hits INT UNSIGNED NOT NULL, small SMALLINT, big BIGINT, cas BIGINT UNSIGNED, ends DATETIME, sure DATETIME NOT NULL, mark BIT(3),
    text VARCHAR(50) NOT NULL, note VARBINARY(300), ext_id INT UNSIGNED, ext_size INT UNSIGNED NOT NULL, PRIMARY KEY (id, part),
    UNIQUE by_mail (mail), INDEX by_place (town, street));
CREATE TABLE shop.plain (id INT PRIMARY KEY, value VARBINARY(100), note VARBINARY(20), ext_id INT UNSIGNED, ext_size INT UNSIGNED);
CREATE TABLE shop.firm (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, mail VARCHAR(60), hits BIGINT UNSIGNED, sure BIGINT UNSIGNED NOT NULL, rank INT,
    ext_id INT UNSIGNED, ext_size INT UNSIGNED);
CREATE TABLE shop.half (id INT PRIMARY KEY, value VARBINARY(100), ext_id INT UNSIGNED);
CREATE TABLE shop.parts_key (id INT UNSIGNED PRIMARY KEY, part INT NOT NULL, content VARBINARY(100));
CREATE TABLE shop.parts_three (id INT UNSIGNED, part INT, more INT, content VARBINARY(100), PRIMARY KEY (id, part, more));
CREATE TABLE shop.parts_type (id INT UNSIGNED, part INT, content INT, PRIMARY KEY (id, part));
CREATE TABLE shop.parts_none (id INT UNSIGNED, part INT, PRIMARY KEY (id, part));
CREATE TABLE shop.parts (id INT UNSIGNED, part INT, content VARBINARY(70), PRIMARY KEY (id, part));
END
want 0 "$BIN/ndb_create_table" "$BOX/tables.sql"
want 0 "$CONFIG" add-role bad 17 --max-tps=5000
want_text out '^Added role "bad"\.$'
want 1 "$CONFIG" add-role bad 18
want_text err '^the role is there already: drop it first$'
want 1 "$CONFIG" add-role other 18x
want_text err 'table ndbmemcache.memcache_server_roles, column role_id: [0-9]+: '
want 1 "$CONFIG" add-role "$(printf 'r%.0s' $(seq 41))" 18
want_text err 'table ndbmemcache.memcache_server_roles, column role_name: 4216: '
want 0 "$CONFIG" add-policy both caching caching caching --flush-from-db
want 1 "$CONFIG" add-policy both caching caching caching
want_text err '^policy "both" is there already: drop it first$'
want 1 "$CONFIG" add-policy odd caching often caching
want_text err '^"often" is not cache_only, ndb_only, caching or disabled$'
want 0 "$CONFIG" add-container users --table=shop.user --key=id,part --value='mail, town' --flags=7 --increment=hits --cas=cas --expire=ends
want 1 "$CONFIG" add-container users --table=shop.user --key=id,part --value=mail
want_text err '^container "users" is there already: drop it first$'
want 0 "$CONFIG" add-container turned --table=shop.user --key=part,id --increment=hits
want 0 "$CONFIG" add-container mails --table=shop/user --key=mail --value=id,town --flags=small
want 0 "$CONFIG" add-container towns --table=shop.user --key=town --value=street
want 0 "$CONFIG" add-container large --table=shop.plain --key=id --value=value --large-values=parts
want 0 "$CONFIG" add-container counter --table=shop.plain --key=id --value=ext_id --increment=ext_id
want 0 "$CONFIG" add-prefix bad u: both users
want_text out '^Servers of role bad load anew\.$'
want 1 "$CONFIG" add-prefix bad u: both users
want_text err '^the key prefix is there already: drop it first$'
want 0 "$CONFIG" add-prefix bad n: both turned
want 0 "$CONFIG" add-prefix bad m: both mails
want 0 "$CONFIG" add-prefix bad o: both towns
want 0 "$CONFIG" add-prefix bad l: both large
want 0 "$CONFIG" add-prefix bad c: both counter
want 0 "$CONFIG" add-policy never disabled disabled disabled
want 0 "$CONFIG" add-prefix bad d: never
want 0 "$CONFIG" add-prefix bad dd: never large
want 0 "$CONFIG" add-prefix bad 'q\xff\x41"' memcache-only
want 0 "$CONFIG" show
want_text out '^  "q\\xffA\\x22": policy memcache-only, no container$'
want 1 "$CONFIG" add-prefix nobody y: both users
want_text err '^there is no role "nobody"$'
want 1 "$CONFIG" drop-prefix nobody y:
want 1 "$CONFIG" drop-prefix bad y:
want_text err '^there is no such key prefix$'
want 0 "$BIN/mc_config_client" "$CS" load bad
cat "$BOX/out"
want_text out '^config 3 of role bad \(17\): max_tps 5000, 1 clusters, stamp same$'
want_text out '^container users: primary\(\) key=id key=part value=mail value=town increment=hits cas=cas expire=ends constant=7 dup=0$'
want_text out '^container turned: primary\(\) key=part key=id increment=hits constant=0 dup=0$'
want_text out '^container mails: unique\(by_mail\) key=mail value=id value=town flags=small constant=0 dup=0$'
want_text out '^container towns: ordered\(by_place\) key=town value=street constant=0 dup=0$'
want_text out '^container large: primary\(\) key=id value=value constant=0 dup=0 .* part_bytes=70$'
want_text out '^container counter: primary\(\) key=id value=ext_id increment=ext_id constant=0 dup=0$'
want_text out "^prefix 'd:': 0 0 0 flush 0 cluster 0 container -$"
want_text out "^prefix 'dd:': 0 0 0 flush 0 cluster 0 container large$"
[ "$(grep -c '^prefix' "$BOX/out")" -eq 10 ] || fail "not ten prefixes"
for used in "container users" "policy both"; do
    want 1 "$CONFIG" "drop-${used% *}" "${used#* }"
    want_text err "^${used% *} \"${used#* }\" is of use for prefixes: drop them first$"
done
want 0 "$CONFIG" drop-container users --force
want_text out '^Servers of role bad load anew\.$'
want 1 "$CONFIG" check bad
want_text out '^key prefix "u:" of role bad is refused: there is no container "users" in containers$'
for prefix in u: n: m: o: l: c: d: dd: 'q\xff\x41\x22'; do want 0 "$CONFIG" drop-prefix bad "$prefix"; done
for container in turned mails towns large counter; do want 0 "$CONFIG" drop-container "$container"; done
want 1 "$CONFIG" drop-container users
want_text err '^there is no container "users"$'
want 0 "$CONFIG" drop-policy both
want 0 "$CONFIG" drop-policy never
want 1 "$CONFIG" drop-policy never
want_text err '^there is no policy "never"$'

say "key prefixes that are refused"
wrong_prefix 'there is no policy "nothing" in cache_policies$' nothing demo_table
wrong_prefix 'policy "ndb-only" needs a container$' ndb-only
wrong_prefix 'policy "caching" needs a container$' caching
wrong_prefix 'there is no container "none" in containers$' ndb-only none
wrong_prefix 'policy "memcache-only" is for the cache only, and cannot have container "demo_table"$' memcache-only demo_table
wrong_prefix 'there is no cluster 9 in ndb_clusters$' ndb-only demo_table --cluster=9
want 0 "$CONFIG" add-policy odd caching often caching --force
wrong_prefix 'set_policy "often" of policy "odd" is not cache_only, ndb_only, caching or disabled$' odd demo_table
want 0 "$CONFIG" drop-policy odd

say "other clusters"
want 0 "$CONFIG" add-cluster 4 127.0.0.1:1
want 1 "$CONFIG" add-cluster 4 127.0.0.1:1
wrong_prefix 'cluster 4 at "127.0.0.1:1" cannot be reached$' ndb-only demo_table --cluster=4
want 0 "$CONFIG" add-cluster 5 ""
want 0 "$CONFIG" add-cluster 6 "$CS"
want 0 "$CONFIG" add-prefix bad x: ndb-only demo_table --cluster=5
want 0 "$CONFIG" add-prefix bad y: ndb-only demo_table --cluster=6
want 0 "$CONFIG" add-prefix bad z: ndb-only demo_table --cluster=6
want 0 "$CONFIG" check bad
want 0 "$BIN/mc_config_client" "$CS" load bad # It reaches nobody else.
want_text out "^prefix 'x:': 2 2 2 flush 0 cluster 0 container demo_table$"
want_text out '^key prefix "z:" of role bad is refused: cluster 6 at .* cannot be reached$'
want 0 "$CONFIG" show
want_text out '^  "y:": policy ndb-only, container demo_table, cluster 6$'
want 1 "$CONFIG" drop-cluster 6
for prefix in x: y: z:; do want 0 "$CONFIG" drop-prefix bad "$prefix"; done
for cluster in 4 5 6; do want 0 "$CONFIG" drop-cluster "$cluster"; done

say "containers that are refused"
user="--table=shop.user --key=id,part"
plain="--table=shop.plain --key=id --value=value"
# shellcheck disable=SC2086
{
    want 1 "$CONFIG" add-container wrong --table=user --key=id --value=mail
    want_text err '^--table must be DATABASE.TABLE, not "user"$'
    wrong_container 'table shop.nothing: 723: ' --table=shop.nothing --key=id --value=a
    wrong_container 'table shop.user has no column ID2 \(key_columns\)$' --table=shop.user --key=ID2 --value=mail
    wrong_container 'key_columns has an empty name$' --table=shop.user --key=id,,part --value=mail
    wrong_container 'column id is named twice \(key_columns\)$' --table=shop.user --key=id,id --value=mail
    wrong_container 'table shop.user has no column name \(value_columns\)$' $user --value=mail,name
    wrong_container 'column mark \(value_columns\) is of a type that has no text$' $user --value=mark
    wrong_container 'column mark \(key_columns\) is of a type that has no text$' --table=shop.user --key=mark --value=mail
    wrong_container 'column part is both key and value$' $user --value=mail,part
    wrong_container 'it has neither value_columns nor increment_column$' $user
    wrong_container 'table shop.user has no column flag \(flags\)$' $user --value=mail --flags=flag
    wrong_container 'column town \(flags\) is not an integer$' $user --value=mail --flags=town
    wrong_container 'flags 4294967296 are more than 32 bits$' $user --value=mail --flags=4294967296
    wrong_container 'table shop.user has no column count \(increment_column\)$' $user --value=mail --increment=count
    wrong_container 'column town \(increment_column\) is neither INT UNSIGNED nor BIGINT UNSIGNED$' $user --value=mail --increment=town
    wrong_container 'column big \(increment_column\) is neither INT UNSIGNED nor BIGINT UNSIGNED$' $user --value=mail --increment=big
    wrong_container 'column id \(increment_column\) is part of a key$' $user --value=mail --increment=id
    wrong_container 'column name \(value_columns\) and column hits \(increment_column\) must both be able to be NULL: a number stands in one of them$' \
        --table=shop.firm --key=id --value=name --increment=hits
    wrong_container 'column mail \(value_columns\) and column sure \(increment_column\) must both be able to be NULL: ' \
        --table=shop.firm --key=id --value=mail --increment=sure
    wrong_container 'column mail \(value_columns\) and column sure \(increment_column\) must both be able to be NULL: ' \
        --table=shop.firm --key=id --value=mail --increment=sure --large-values=shop.parts
    wrong_container 'column rank \(value_columns\) is an integer, and increments would count in another column' \
        --table=shop.firm --key=id --value=rank --increment=hits
    wrong_container 'table shop.user has no column version \(cas_column\)$' $user --value=mail --cas=version
    wrong_container 'column hits \(cas_column\) is not BIGINT UNSIGNED$' $user --value=mail --cas=hits
    wrong_container 'column cas \(cas_column\) is used otherwise, too$' $user --value=cas --cas=cas
    wrong_container 'column cas \(cas_column\) is used otherwise, too$' $user --value=mail --increment=cas --cas=cas
    wrong_container 'table shop.user has no column end \(expire_time_column\)$' $user --value=mail --expire=end
    wrong_container 'column town \(expire_time_column\) is no TIMESTAMP, DATETIME or INT$' $user --value=mail --expire=town
    wrong_container 'column sure \(expire_time_column\) cannot be NULL, ' $user --value=mail --expire=sure
    wrong_container 'key_columns id are neither the primary key of shop.user, nor a unique index, nor ' --table=shop.user --key=id --value=mail
    wrong_container 'key_columns street are neither ' --table=shop.user --key=street --value=mail
    wrong_container 'with large_values_table there is exactly one value column$' $plain,note --large-values=shop.parts
    wrong_container 'column ext_id must be VARBINARY or VARCHAR and may be NULL, ' --table=shop.plain --key=id --value=ext_id --large-values=shop.parts
    wrong_container 'column text must be VARBINARY or VARCHAR and may be NULL, ' $user --value=text --large-values=shop.parts
    wrong_container 'table shop.half has no column ext_size \(large_values_table\)$' --table=shop.half --key=id --value=value --large-values=shop.parts
    wrong_container 'table ndbmemcache.demo_table has no column ext_id ' --table=ndbmemcache.demo_table --key=mkey --value=string_value --large-values=shop.parts
    wrong_container 'column ext_size \(large_values_table\) must be an integer that can be NULL$' $user --value=note --large-values=shop.parts
    wrong_container 'large_values_table shop.nothing: 723: ' $plain --large-values=nothing
    wrong_container 'the primary key of table shop.parts_key is not \(id, part\)$' $plain --large-values=shop.parts_key
    wrong_container 'the primary key of table shop.parts_three is not \(id, part\)$' $plain --large-values=shop.parts_three
    wrong_container 'column content of table shop.parts_type is no VARBINARY or VARCHAR$' $plain --large-values=shop.parts_type
    wrong_container 'table shop.parts_none has no column content$' $plain --large-values=shop.parts_none
}
columns=$(seq -f 'c%.0f' 33 | paste -sd,)
want 0 "$BIN/ndb_create_table" -e "CREATE TABLE shop.wide (id INT PRIMARY KEY, ${columns//,/ INT, } INT)"
wrong_container 'more than 32 columns \(value_columns\)$' --table=shop.wide --key=id --value="$columns"
want 0 "$CONFIG" drop-role bad
want 1 "$CONFIG" drop-role bad
want_text err '^there is no such role$'

say "no data node is left while a server loads"
mkfifo "$BOX/line"
: >"$BOX/lost.out" # Before the first look at it.
client lost default_role <"$BOX/line" >"$BOX/lost.out" 2>&1 &
lost=$!
exec 4>"$BOX/line"
wait_text lost.out '^holding$'
make_durable
kill_nodes
echo go >&4
exec 4>&-
wait "$lost" || fail "something is known without data nodes"
cp "$BOX/lost.out" "$BOX/out"
cat "$BOX/out"
want_text out '^compile: container ".*": table ndbmemcache\..*: 40[0-9]+: '
want_text out '^load: table ndbmemcache.meta: 40[0-9]+: '
want_text out '^stamp: table ndbmemcache.memcache_server_roles: 40[0-9]+: '
want_text out '^touch: table ndbmemcache.memcache_server_roles: 40[0-9]+: '
want_text out '^bootstrap: table ndbmemcache.meta: 40[0-9]+: '
want_text out '^sign_on: 40[0-9]+$'
for node in 1 2; do start_node "$node"; done
want 0 "$BIN/ndb_waiter" --timeout=100

say "versions of the tables"
versions 1.1 1.0a
want 0 "$CONFIG" check
versions 1.0
want 0 "$CONFIG" check
versions 1.0a
want 1 "$CONFIG" check default_role
want_text err 'have version 1\.0a, which was never released'
versions 1.3
want 1 "$CONFIG" check default_role
want_text err 'have none of the versions 1\.2, 1\.1 and 1\.0 in table meta$'
versions 1.2

say "tables of version 1.0, made by others: without large_values_table, and times in seconds"
want 0 "$BIN/ndb_drop_table" -d ndbmemcache containers memcache_server_roles
want 0 "$BIN/ndb_create_table" -e "CREATE TABLE ndbmemcache.containers (name CHAR(50) PRIMARY KEY, db_schema VARCHAR(250) NOT NULL,
    db_table VARCHAR(250) NOT NULL, key_columns VARCHAR(250) NOT NULL, value_columns VARCHAR(250), flags VARCHAR(250) NOT NULL,
    increment_column VARCHAR(250), cas_column VARCHAR(250), expire_time_column VARCHAR(250)) CHARSET=utf8mb4;
    CREATE TABLE ndbmemcache.memcache_server_roles (role_name VARCHAR(40) PRIMARY KEY, role_id INT UNSIGNED NOT NULL,
    max_tps INT UNSIGNED NOT NULL, update_timestamp TIMESTAMP NOT NULL)"
want 0 "$CONFIG" add-role default_role 0
want 0 "$CONFIG" add-container demo_table --table=ndbmemcache.demo_table --key=mkey --value=string_value
want 1 "$CONFIG" add-container large --table=shop.plain --key=id --value=value --large-values=shop.parts
want_text err 'table ndbmemcache.containers, column large_values_table: 4004: '
want 0 "$BIN/mc_config_client" "$CS" load default_role
want_text out "^prefix '': 2 2 2 flush 1 cluster 0 container demo_table$"
want_text out '^key prefix "t:" of role default_role is refused: there is no container "demo_tabs" in containers$'
want 0 "$BIN/mc_config_client" "$CS" stamp default_role
want 0 "$BIN/ndb_drop_table" -d ndbmemcache key_prefixes
want 0 "$BIN/ndb_create_table" -e "CREATE TABLE ndbmemcache.key_prefixes (server_role_id INT PRIMARY KEY)"
want 1 "$CONFIG" show
want_text err '^table ndbmemcache.key_prefixes has no column key_prefix$'
stop_cluster
