"""A chart of the ratios in PERFORMANCE.md: `ratios.svg` beside this file.

Every table whose last column is "... ÷ best" gives a bar for each case on two threads, our time over that of the best peer, from
the line at 1 to the left where we are ahead and to the right where we are behind. With --check nothing is written, and the
exit status says whether the chart is that of the tables.
"""

import argparse
import math
import os
import sys
from html import escape

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = os.path.join(HERE, "..", "..", "PERFORMANCE.md")
CHART = os.path.join(HERE, "ratios.svg")

LEAST, MOST = 1 / 16, 16
LEFT, SCALE, LINE = 190, 560, 15
AHEAD, BEHIND = "#2a7f62", "#b5452c"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(lines):
    """The section, the names of the columns and the rows of each table."""
    section, head, rows = "", None, []
    for line in lines + [""]:
        if line.startswith("|"):
            if head is None:
                head = cells(line)
            elif set(line) - set("|-: \n"):
                rows.append(cells(line))
            continue
        if head is not None:
            yield section, head, rows
            head, rows = None, []
        if line.startswith("#"):
            section = line.lstrip("#").strip()


def ratios(lines):
    """(section, [(case, ratio)]) of each table that has them, slowest last."""
    for section, head, rows in tables(lines):
        if not head[-1].endswith("÷ best"):
            continue
        found = []
        for row in rows:
            if len(row) != len(head):
                sys.exit(f"{section}: a row of {len(row)} cells under {len(head)} names: {' | '.join(row)}")
            if "threads" in head and row[head.index("threads")] != "2":
                continue
            if row[-1]:
                found.append((row[0], float(row[-1])))
        if found:
            yield section, sorted(found, key=lambda case: case[1])


def place(ratio):
    ratio = min(max(ratio, LEAST), MOST)
    return LEFT + SCALE * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def text(x, y, what, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(what)}</text>'


def chart(groups):
    body, y = [], 46
    for section, found in groups:
        mean = math.exp(sum(math.log(ratio) for _, ratio in found) / len(found))
        ahead = sum(ratio < 1 for _, ratio in found)
        title = f"{section}: geometric mean {mean:.2f}, ahead in {ahead} of {len(found)}"
        body.append(text(LEFT, y, title, 'font-weight="bold"'))
        y += 8
        for case, ratio in found:
            start, end = sorted([place(1), place(ratio)])
            fill = AHEAD if ratio < 1 else BEHIND
            body.append(text(LEFT - 8, y + 11, case, 'text-anchor="end"'))
            body.append(f'<rect x="{start:.1f}" y="{y + 2}" width="{max(end - start, 1):.1f}" height="11" fill="{fill}"/>')
            anchor, x = ("end", start - 4) if ratio < 1 else ("start", end + 4)
            body.append(text(x, y + 11, f"{ratio:.2f}", f'text-anchor="{anchor}" fill="{fill}"'))
            y += LINE
        y += 26
    height, width = y, LEFT + SCALE + 30
    grid = []
    for power in range(-4, 5):
        x = place(2.0**power)
        stroke = "#444" if power == 0 else "#ddd"
        grid.append(f'<line x1="{x:.1f}" y1="30" x2="{x:.1f}" y2="{height - 14}" stroke="{stroke}"/>')
        name = f"{2**power}" if power >= 0 else f"1/{2**-power}"
        grid.append(text(x, 24, name, 'text-anchor="middle"'))
    style = 'font-family="sans-serif" font-size="11" fill="#222"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" {style}>'
    title = "<title>Time of openwork over that of the best peer, two threads</title>"
    back = f'<rect width="{width}" height="{height}" fill="white"/>'
    return "\n".join([head, title, back, *grid, *body, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    with open(TABLES, encoding="utf-8") as file:
        groups = list(ratios(file.readlines()))
    if not groups:
        sys.exit("PERFORMANCE.md has no table of ratios")
    new = chart(groups)
    if given.check:
        with open(CHART, encoding="utf-8") as file:
            if file.read() != new:
                sys.exit("ratios.svg is not that of the tables: run python3 examples/standard/chart.py")
        return
    with open(CHART, "w", encoding="utf-8") as file:
        file.write(new)


if __name__ == "__main__":
    main()
