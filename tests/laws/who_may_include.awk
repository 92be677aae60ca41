# who_may_include.awk -- says which lines "file:what it includes" break the table of rooms, and what is wrong in the table itself.
# SPDX-License-Identifier: GPL-2.0-only
# usage: awk -f who_may_include.awk rooms.txt - (a line "file:" for each file, and "file:path" for each include)

function room_of(path, name) { # The longest that the path begins with.
    if (path ~ /^ndb\//) path = "include/" path
    for (name = path; !(name in place) && name ~ /\//;) sub(/\/[^\/]*$/, "", name)
    return name in place ? name : ""
}
function is_there(path) { return system("test -e " path) == 0 }

# The table.
FILENAME != "-" && /^ *(#|=|$)/ { next }
FILENAME != "-" && /^\*/ {
    for (i = 2; i <= NF; i++) free[$i] = 1
    next
}
FILENAME != "-" {
    split($0, part, "|")
    room = part[1]
    gsub(/ /, "", room)
    if (room in place) print "rooms.txt has " room " twice"
    if (!is_there(room)) print "rooms.txt has the room " room ", which is not there"
    place[room] = ++rooms
    may[room] = part[3]
    next
}

# All rooms are known: what they may know.
FNR == 1 {
    if (rooms < 10) print "rooms.txt has only " rooms + 0 " rooms"
    for (room in may) {
        n = split(may[room], names, " ")
        for (i = 1; i <= n; i++) {
            known[room, names[i]] = 1
            if (!is_there(names[i])) print "rooms.txt: " room " may know " names[i] ", which is not there"
            else if (names[i] in place && place[names[i]] <= place[room]) print "rooms.txt: " room " may know all of " names[i] ", which is not below it"
            else if (room_of(names[i]) == "") print "rooms.txt: " room " may know " names[i] ", which is in no room"
        }
    }
}

# A file, or one of its includes.
{
    file = include = $0
    sub(/:.*/, "", file)
    sub(/[^:]*:/, "", include)
    top = file
    sub(/\/.*/, "", top)
    if (top in free) next
    room = room_of(file)
    files += include == ""
    if (room == "" && include == "") print file " is in no room of rooms.txt"
    if (room == "" || include == "") next
    other = room_of(include)
    if (other != room && !((room, other) in known) && !((room, include) in known))
        print file " includes " include ", which its room " room " may not know"
}

END {
    if (files < 500) print "only " files + 0 " files: the list is not complete"
    print "that is all"
}
