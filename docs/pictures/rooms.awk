# rooms.awk -- draws rooms.svg from tests/laws/rooms.txt: a stair of rooms. What a room may know stands on the line that leaves it
# sideways; a dot there leads down to the room that is known, or up to the one of which single files are.
# SPDX-License-Identifier: GPL-2.0-only

BEGIN {
    FS = "|"
    BOX_WIDTH = 250; BOX_HEIGHT = 42; STEP_X = 44; STEP_Y = 54; LAYER_GAP = 14; LEFT = 116; MARGIN = 20; TOP = 58
    INK = "#1d2433"; FAINT = "#5b6577"; WIRE = "#a9b1bf"
    split("#1f5fa8 #7a3e9d #1d7a46 #b3541e #4a5363", dark, " ")
    split("#e3eefb #f2e6f8 #e2f4e8 #fcebdd #e9ebee", light, " ")
}
/^ *(#|$)/ { next }
/^\*/ { next }
/^=/ { layer_name[++layers] = trim(substr($0, 2)); layer_first[layers] = rooms + 1; next }
{
    room[++rooms] = trim($1)
    job[rooms] = trim($2)
    knows[rooms] = trim($3)
    number[room[rooms]] = rooms
    layer[rooms] = layers
    layer_last[layers] = rooms
}

# The room of a name: itself, or the longest room that the path of a file begins with.
function room_of(name, r, best) {
    if (name in number) return number[name]
    for (r = 1; r <= rooms; r++)
        if (index(name, room[r] "/") == 1 && (!best || length(room[r]) > length(room[best]))) best = r
    return best
}
function right(r) { return LEFT + BOX_WIDTH + (r - 1) * STEP_X }
function left(r) { return right(r) - BOX_WIDTH }
function middle(r) { return TOP + (r - 1) * STEP_Y + (layer[r] - 1) * LAYER_GAP + BOX_HEIGHT / 2 }
function column(r) { return right(r) - 20 }
function column_up(r) { return left(r) + 20 }

END {
    for (r = 1; r <= rooms; r++) {
        n = split(knows[r], names, " ")
        for (i = 1; i <= n; i++) {
            known = room_of(names[i])
            if (!known) { printf "rooms.awk: %s is in no room\n", names[i] >"/dev/stderr"; exit 1 }
            if (names[i] in number) whole[r, known] = 1
            else files[r, known] = files[r, known] (files[r, known] == "" ? "" : ", ") substr(names[i], length(room[known]) + 2)
        }
    }
    width = right(rooms) + MARGIN
    height = middle(rooms) + BOX_HEIGHT / 2 + 30
    svg_begin(width, height, "The rooms of the code, and who may know whom", "tests/laws/rooms.txt")
    for (l = 1; l <= layers; l++) { # Bands.
        y = middle(layer_first[l]) - BOX_HEIGHT / 2 - 10
        bottom = middle(layer_last[l]) + BOX_HEIGHT / 2 + 10
        svg_box(0, y, width, bottom - y, l % 2 ? "#f6f7f9" : "#ffffff", "none", 0)
        svg_text(MARGIN, y + 36, "start", dark[l], layer_name[l], "font-weight=\"bold\" font-size=\"14\"")
    }
    svg_text(MARGIN, 30, "start", INK, "The rooms of the code, and who may know whom", "font-weight=\"bold\" font-size=\"17\"")
    for (r = 1; r <= rooms; r++) { # From a room sideways, to its farthest dot.
        far = 0
        for (k = r + 1; k <= rooms; k++) if ((r, k) in whole || (r, k) in files) far = k
        if (far) svg_line(right(r), middle(r), column(far), middle(r), WIRE, 2, "")
        for (k = r - 1; k >= 1; k--) if ((r, k) in files) svg_line(left(r), middle(r), column_up(k), middle(r), WIRE, 2, "")
    }
    for (k = 1; k <= rooms; k++) { # From the first dot down to the room, and up.
        first = last = 0
        for (r = k - 1; r >= 1; r--) if ((r, k) in whole || (r, k) in files) first = r
        for (r = k + 1; r <= rooms; r++) if ((r, k) in files) last = r
        if (first) {
            svg_line(column(k), middle(first), column(k), middle(k) - BOX_HEIGHT / 2 - 6, dark[layer[k]], 2, "")
            svg_tip(column(k), middle(k) - BOX_HEIGHT / 2, 0, 1, dark[layer[k]])
        }
        if (last) {
            svg_line(column_up(k), middle(last), column_up(k), middle(k) + BOX_HEIGHT / 2 + 6, dark[layer[k]], 2, "")
            svg_tip(column_up(k), middle(k) + BOX_HEIGHT / 2, 0, -1, dark[layer[k]])
        }
    }
    for (r = 1; r <= rooms; r++)
        for (k = 1; k <= rooms; k++) {
            if ((r, k) in whole) svg_dot(column(k), middle(r), 5, dark[layer[k]], dark[layer[k]])
            else if ((r, k) in files) svg_dot(k > r ? column(k) : column_up(k), middle(r), 5, "#ffffff", dark[layer[k]])
        }
    for (r = 1; r <= rooms; r++) {
        y = middle(r) - BOX_HEIGHT / 2
        svg_box(left(r), y, BOX_WIDTH, BOX_HEIGHT, light[layer[r]], dark[layer[r]], 6)
        svg_text(left(r) + BOX_WIDTH / 2, y + 18, "middle", INK, room[r], "font-weight=\"bold\" font-size=\"14\"")
        svg_text(left(r) + BOX_WIDTH / 2, y + 34, "middle", INK, job[r], "")
    }
    # How to read it, and the single files, in the corner that the stair leaves free.
    y = middle(rooms) + BOX_HEIGHT / 2
    for (r = rooms; r >= 1; r--)
        for (k = rooms; k >= 1; k--)
            if ((r, k) in files) {
                svg_text(LEFT + 22, y, "start", FAINT, room[r] " of " room[k] ": " files[r, k], "")
                y -= 18
            }
    svg_dot(LEFT + 8, y - 4, 5, "#ffffff", FAINT)
    svg_text(LEFT + 22, y, "start", INK, "may include only these files of that room:", "")
    svg_dot(LEFT + 8, y - 28, 5, FAINT, FAINT)
    svg_text(LEFT + 22, y - 24, "start", INK, "may include the room that its arrow leads to", "")
    svg_text(LEFT, y - 50, "start", INK, "A dot on the line of a room: this room", "")
    svg_end()
}
