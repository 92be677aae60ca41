# threads.awk -- draws threads.svg from threads.txt: a row of processes, the data node with its threads as columns, its helpers.
# SPDX-License-Identifier: GPL-2.0-only

BEGIN {
    FS = "|"
    WIDTH = 960; MARGIN = 20; GAP = 12; INSIDE = 34; PROCESS_TOP = 56; PROCESS_HEIGHT = 64; NODE_TOP = 180; COLUMN_TOP = NODE_TOP + 44; ITEM = 50
    INK = "#1d2433"; FAINT = "#5b6577"
    BLUE = "#1f5fa8"; BLUE_LIGHT = "#e3eefb"; GREEN = "#1d7a46"; GREEN_LIGHT = "#e2f4e8"; GREY = "#4a5363"; GREY_LIGHT = "#f6f7f9"
    BOLD = "font-weight=\"bold\""
}
/^ *(#|$)/ { next }
{
    kind = $1
    sub(/ .*/, "", kind)
    first = trim(substr($1, length(kind) + 2)); second = trim($2); third = trim($3)
}
kind == "process" { process[++processes] = first; is[processes] = second; more[processes] = third }
kind == "thread" { thread[++threads] = first; count[threads] = second; job[threads] = third }
kind == "helper" { helper[++helpers] = first; helps[helpers] = second }
kind == "block" || kind == "does" {
    n = ++items[threads]
    if (n > most) most = n
    item_kind[threads, n] = kind
    item[threads, n] = first
    item_more[threads, n] = second
}
function arrow_both(x, y1, y2) {
    svg_line(x, y1 + 6, x, y2 - 6, GREY, 2, "")
    svg_tip(x, y1, 0, -1, GREY)
    svg_tip(x, y2, 0, 1, GREY)
}
END {
    column = (WIDTH - 2 * INSIDE - (threads - 1) * GAP) / threads
    queue_top = COLUMN_TOP + 56 + most * ITEM + 10
    helper_top = queue_top + 44
    node_bottom = helper_top + 64
    height = node_bottom + 96
    svg_begin(WIDTH, height, "Processes and threads", "docs/pictures/threads.txt")
    svg_text(MARGIN, 30, "start", INK, "Processes and threads", BOLD " font-size=\"17\"")

    wide = (WIDTH - 2 * MARGIN - (processes - 1) * 24) / processes
    for (p = 1; p <= processes; p++) {
        x = MARGIN + (p - 1) * (wide + 24)
        svg_box(x, PROCESS_TOP, wide, PROCESS_HEIGHT, BLUE_LIGHT, BLUE, 6)
        svg_text(x + wide / 2, PROCESS_TOP + 20, "middle", INK, process[p], BOLD " font-size=\"14\"")
        svg_text(x + wide / 2, PROCESS_TOP + 38, "middle", INK, is[p], "")
        svg_text(x + wide / 2, PROCESS_TOP + 53, "middle", INK, more[p], "")
        if (p < processes) arrow_both(x + wide / 2, PROCESS_TOP + PROCESS_HEIGHT, NODE_TOP)
        else { # The console knows the management server alone.
            y = PROCESS_TOP + PROCESS_HEIGHT / 2
            svg_line(x - 18, y, x - 6, y, GREY, 2, "")
            svg_tip(x - 24, y, -1, 0, GREY)
            svg_tip(x, y, 1, 0, GREY)
        }
    }
    svg_text(MARGIN + wide / 2 + 14, NODE_TOP - 24, "start", FAINT, "signals, one link for each pair of nodes", "")

    svg_box(MARGIN, NODE_TOP, WIDTH - 2 * MARGIN, node_bottom - NODE_TOP, GREY_LIGHT, GREY, 8)
    svg_text(INSIDE, NODE_TOP + 26, "start", INK, "ndbmtd, a data node", BOLD " font-size=\"14\"")
    svg_text(WIDTH - INSIDE, NODE_TOP + 26, "end", FAINT, "with one or two CPUs a single thread does all that main, rep, ldm, tc, recv and send do", "")
    for (t = 1; t <= threads; t++) {
        x = INSIDE + (t - 1) * (column + GAP)
        svg_box(x, COLUMN_TOP, column, queue_top - COLUMN_TOP - 10, "#ffffff", GREY, 6)
        svg_text(x + column / 2, COLUMN_TOP + 22, "middle", INK, thread[t] (count[t] == "1" ? "" : "  × " count[t]), BOLD " font-size=\"14\"")
        svg_text(x + column / 2, COLUMN_TOP + 40, "middle", FAINT, job[t], "")
        for (i = 1; i <= items[t]; i++) {
            y = COLUMN_TOP + 52 + (i - 1) * ITEM
            if (item_kind[t, i] == "block") {
                svg_box(x + 6, y, column - 12, ITEM - 8, GREEN_LIGHT, GREEN, 5)
                svg_text(x + column / 2, y + 18, "middle", INK, item[t, i], BOLD)
                svg_text(x + column / 2, y + 34, "middle", INK, item_more[t, i], "")
            } else {
                svg_text(x + column / 2, y + 20, "middle", INK, item[t, i], "")
                svg_text(x + column / 2, y + 35, "middle", INK, item_more[t, i], "")
            }
        }
    }
    x = INSIDE + (threads - 1) * (column + GAP) - GAP # Send threads have no queue of signals.
    svg_box(INSIDE, queue_top, x - INSIDE, 32, GREY, "none", 5)
    svg_text((INSIDE + x) / 2, queue_top + 20, "middle", "#ffffff", "job queues: from each thread to each thread two, of priority A and B, without a lock", BOLD)
    svg_text(x + GAP + column / 2, queue_top + 20, "middle", FAINT, "no signals, only bytes", "")
    wide = (WIDTH - 2 * INSIDE - (helpers - 1) * GAP) / helpers
    for (h = 1; h <= helpers; h++) {
        x = INSIDE + (h - 1) * (wide + GAP)
        svg_box(x, helper_top, wide, 48, "#ffffff", GREY, 6)
        svg_text(x + wide / 2, helper_top + 20, "middle", INK, helper[h], BOLD)
        svg_text(x + wide / 2, helper_top + 37, "middle", INK, helps[h], "")
    }

    x = WIDTH / 2
    y = node_bottom + 28
    svg_box(MARGIN, y, x - MARGIN - 12, 44, BLUE_LIGHT, BLUE, 6)
    svg_text((MARGIN + x - 12) / 2, y + 19, "middle", INK, "angel", BOLD " font-size=\"14\"")
    svg_text((MARGIN + x - 12) / 2, y + 35, "middle", INK, "parent process of ndbmtd: starts it again", "")
    svg_box(x + 12, y, x - MARGIN - 12, 44, BLUE_LIGHT, BLUE, 6)
    svg_text((x + 12 + WIDTH - MARGIN) / 2, y + 19, "middle", INK, "the other data nodes", BOLD " font-size=\"14\"")
    svg_text((x + 12 + WIDTH - MARGIN) / 2, y + 35, "middle", INK, "the same again; a link to each of them", "")
    arrow_both((MARGIN + x - 12) / 2, node_bottom, y)
    arrow_both((x + 12 + WIDTH - MARGIN) / 2, node_bottom, y)
    svg_end()
}
