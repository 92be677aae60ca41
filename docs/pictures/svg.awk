# svg.awk -- what the pictures are made of: boxes, lines, words. Coordinates are whole numbers, words have a place and no measured width,
# so that a picture is the same on every machine.
# SPDX-License-Identifier: GPL-2.0-only

function trim(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}
function svg_plain(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}
function svg_begin(width, height, title, source) {
    print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    print "<!-- SPDX-License-Identifier: GPL-2.0-only -->"
    printf "<!-- Made by docs/pictures/draw.sh from %s. -->\n", source
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" " \
           "font-family=\"Helvetica,Arial,sans-serif\" font-size=\"12\">\n", width, height, width, height
    printf "<title>%s</title>\n", svg_plain(title)
    svg_box(0, 0, width, height, "#ffffff", "none", 0)
}
function svg_end() { print "</svg>" }

function svg_box(x, y, width, height, fill, stroke, radius) {
    printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"%s\" stroke=\"%s\"/>\n", x, y, width, height, radius, fill, stroke
}
# style: more attributes, as font-weight="bold".
function svg_text(x, y, anchor, fill, text, style) {
    printf "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"%s\"%s>%s</text>\n", x, y, anchor, fill, (style == "" ? "" : " " style), svg_plain(text)
}
function svg_line(x1, y1, x2, y2, stroke, width, style) {
    printf "<path d=\"M%d %dL%d %d\" stroke=\"%s\" stroke-width=\"%s\" fill=\"none\"%s/>\n", x1, y1, x2, y2, stroke, width, (style == "" ? "" : " " style)
}
# The point of an arrow, whose tip is at x, y; dx, dy is -1, 0 or 1: where it points to.
function svg_tip(x, y, dx, dy, fill) {
    printf "<path d=\"M%d %dL%d %dL%d %dZ\" fill=\"%s\"/>\n", x, y, x - 8 * dx + 4 * dy, y - 8 * dy + 4 * dx, x - 8 * dx - 4 * dy, y - 8 * dy - 4 * dx, fill
}
function svg_dot(x, y, radius, fill, stroke) {
    printf "<circle cx=\"%d\" cy=\"%d\" r=\"%d\" fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"/>\n", x, y, radius, fill, stroke
}
