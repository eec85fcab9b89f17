#!/usr/bin/env python3
"""Reads the notebooks' sources: C++ programs whose comments cut them into cells.

    literate.py instrument NAME.cpp OUT.cpp     a copy that says on stdout which cell is running

A line `// %%` begins a code cell and `// %% [markdown]` a cell of text, whose lines are comments. What stands above the
first cell, and lines that end in `// hidden` (such as those that open and close main), belong to the program but not to
the notebook. Needs nothing but Python: building and testing the notebooks rests on this file.
"""

import dataclasses
import pathlib
import re
import sys
import textwrap

MARKER = re.compile(r"^[ \t]*// %%[ \t]*(\[markdown\])?[ \t]*$")
HIDDEN = re.compile(r"//[ \t]*hidden[ \t]*$")
MAIN = re.compile(r"^int main\(")


@dataclasses.dataclass
class Cell:
    """A cell that is not empty; its place in `cells_of` is its place in the notebook."""
    markdown: bool
    first_line: int  # of the marker, from 0
    text: str  # without indentation; of a cell of text the comments


def cells_of(program: str) -> list[Cell]:
    raw: list[tuple[bool, int, list[str]]] = []
    for number, line in enumerate(program.split("\n")):
        if marker := MARKER.match(line):
            raw.append((marker.group(1) is not None, number, []))
        elif raw and not HIDDEN.search(line):
            raw[-1][2].append(line)
    cells = [Cell(markdown, number, textwrap.dedent("\n".join(lines)).strip("\n")) for markdown, number, lines in raw]
    return [cell for cell in cells if cell.text]


def at_file_scope(code: str) -> str:
    """Cells of main become cells of their own, where a lambda may use what others define, but captures nothing."""
    depth, lines = 0, []
    for line in code.split("\n"):
        if depth == 0:
            line = re.sub(r"= \[&\](?=[ ({])", "= []", line)
        depth += line.count("{") - line.count("}")
        lines.append(line)
    return "\n".join(lines)


def flat_script(program: str) -> str:
    """The cells alone, as a script in Jupytext's percent format."""
    parts = []
    for cell in cells_of(program):
        parts.append(f"// %% [markdown]\n{cell.text}\n" if cell.markdown else f"// %%\n{at_file_scope(cell.text)}\n")
    return "\n".join(parts)


def instrument(source: pathlib.Path, copy: pathlib.Path) -> None:
    text = source.read_text(encoding="utf-8")
    lines = text.split("\n")
    main_line = next((n for n, line in enumerate(lines) if MAIN.match(line)), None)
    if main_line is None:
        raise SystemExit(f"{source}: no line begins with `int main(`")
    for number, cell in enumerate(cells_of(text)):
        if not cell.markdown and cell.first_line > main_line:
            lines[cell.first_line] = f"dashlab::notebook::begin_cell({number});"  # in place: line numbers stay
    copy.write_text(f'#line 1 "{source}"\n' + "\n".join(lines), encoding="utf-8")


def main() -> int:
    match sys.argv[1:]:
        case ["instrument", source, copy]:
            instrument(pathlib.Path(source), pathlib.Path(copy))
            return 0
    print(f"usage: {__doc__.split(chr(10))[2].strip()}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
