# write.awk -- draws write.svg from write.txt: who sends which signal to whom, from the top to the bottom.
# SPDX-License-Identifier: GPL-2.0-only

BEGIN {
    FS = "|"
    WIDTH = 960; MARGIN = 20; FIRST = 102; LANE = 154; TOP = 106; ROW = 36; PHASE = 34
    INK = "#1d2433"; FAINT = "#5b6577"; WIRE = "#c3c9d3"
    split("#1f5fa8 #7a3e9d #1d7a46 #4a5363 #b3541e", dark, " ")
    split("#e3eefb #f2e6f8 #e2f4e8 #e9ebee #fcebdd", light, " ")
}
/^ *(#|$)/ { next }
/^lane / {
    name = trim(substr($1, 6))
    lane[++lanes] = name
    block[name] = trim($2)
    part[name] = trim($3)
    late[name] = trim($4) == "late"
    x[name] = FIRST + (lanes - 1) * LANE
    next
}
/^=/ {
    kind[++rows] = "phase"
    first[rows] = trim(substr($1, 2)); second[rows] = trim($2)
    last_phase = rows
    next
}
{
    rows++
    line = $0
    beside[rows] = sub(/^\+ */, "", line)
    kind[rows] = line ~ /^at / ? "note" : "message"
    words[rows] = trim(substr(line, index(line, ":") + 1))
    line = substr(line, 1, index(line, ":") - 1)
    if (kind[rows] == "note") first[rows] = substr(line, 4)
    else {
        first[rows] = substr(line, 1, index(line, " -> ") - 1)
        second[rows] = substr(line, index(line, " -> ") + 4)
    }
    if (!(first[rows] in x) || (kind[rows] == "message" && !(second[rows] in x))) {
        printf "write.awk: no such lane: %s\n", $0 >"/dev/stderr"
        failed = 1
        exit 1
    }
}
function head(name, y) {
    svg_box(x[name] - 62, y, 124, 42, "#ffffff", FAINT, 6)
    svg_text(x[name], y + 18, "middle", INK, block[name], "font-weight=\"bold\" font-size=\"14\"")
    svg_text(x[name], y + 34, "middle", INK, part[name], "")
}
function message(y, from, to, text, color, number, way) {
    way = x[to] > x[from] ? 1 : -1
    svg_line(x[from], y, x[to] - 6 * way, y, color, 2, "")
    svg_tip(x[to], y, way, 0, color)
    svg_text((x[from] + x[to]) / 2, y - 6, "middle", INK, text, HALO " stroke=\"" ground "\" font-weight=\"bold\"")
    svg_dot(x[from], y, 9, color, "#ffffff")
    svg_text(x[from], y + 4, "middle", "#ffffff", number, "font-weight=\"bold\" font-size=\"11\"")
}
function note(y, at, text, color, width) {
    width = 6 * length(text) + 16 # About what the words need; the box may be wider.
    svg_box(x[at] - width / 2, y - 16, width, 22, "#ffffff", color, 4)
    svg_text(x[at], y - 1, "middle", INK, text, "")
}
END {
    if (failed) exit 1
    y = TOP + 8
    for (r = 1; r <= rows; r++) { # Where everything is.
        if (kind[r] == "phase") {
            phase_of_row[r] = ++phases
            band[phases] = r == 1 ? y : y + 8
            y = band[phases] + PHASE + (r == last_phase ? 46 : 0)
            at[r] = band[phases] + 22
        } else {
            if (beside[r]) y -= ROW
            at[r] = y + 20
            y += ROW
        }
    }
    band[phases + 1] = y + 8
    svg_begin(WIDTH, band[phases + 1], "The way of a write with two replicas", "docs/pictures/write.txt")
    HALO = "paint-order=\"stroke\" stroke-width=\"4\"" # A line does not strike out words.
    svg_text(MARGIN, 30, "start", INK, "The way of a write with two replicas", "font-weight=\"bold\" font-size=\"17\"")
    for (p = 1; p <= phases; p++) svg_box(0, band[p], WIDTH, band[p + 1] - band[p], light[p], "none", 0)
    # Over its lanes each node; then the line of each lane.
    for (l = 1; l <= lanes; l++)
        if ((n = substr(lane[l], index(lane[l], "@") + 1)) != lane[l]) {
            if (!(n in from)) from[n] = x[lane[l]]
            to[n] = x[lane[l]]
        }
    for (n = 1; n in from; n++) {
        svg_box(from[n] - 70, 44, to[n] - from[n] + 140, 14, "#eef0f3", "none", 4)
        svg_text((from[n] + to[n]) / 2, 55, "middle", INK, "data node " n, "font-weight=\"bold\" font-size=\"11\"")
    }
    for (l = 1; l <= lanes; l++) {
        y = late[lane[l]] ? at[last_phase] + 14 : 62
        svg_line(x[lane[l]], y, x[lane[l]], band[phases + 1], WIRE, 2, "")
        head(lane[l], y)
    }
    for (r = 1; r <= rows; r++) {
        if (kind[r] == "phase") {
            p = phase_of_row[r]
            ground = light[p]
            svg_text(MARGIN, at[r], "start", dark[p], first[r], "font-weight=\"bold\" font-size=\"14\"")
            svg_text(FIRST + 14, at[r], "start", INK, second[r], HALO " stroke=\"" ground "\"")
        } else if (kind[r] == "message") {
            if (!beside[r]) number++
            message(at[r], first[r], second[r], words[r], dark[p], number)
        } else note(at[r], first[r], words[r], dark[p])
    }
    svg_end()
}
