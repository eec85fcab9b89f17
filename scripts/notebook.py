#!/usr/bin/env python3
"""Turns a literate C++ file into a Jupyter notebook with its outputs.

    notebook.py instrument NAME.cpp OUT.cpp           a copy that says on stdout which cell is running
    notebook.py assemble NAME.cpp OUTPUT NAME.ipynb   cells and what that copy printed, as nbformat 4.5

The literate file is an ordinary C++ program. `// %%` begins a code cell and `// %% [markdown]` a cell of text, whose
lines are comments. What stands above the first cell, and lines that end in `// hidden` (such as those that open and
close main), belong to the program but not to the notebook. Pictures come through dashlab::notebook::show_svg.
"""

import dataclasses
import json
import pathlib
import re
import sys
import textwrap

MARKER = re.compile(r"^[ \t]*// %%[ \t]*(\[markdown\])?[ \t]*$")
HIDDEN = re.compile(r"//[ \t]*hidden[ \t]*$")
MAIN = re.compile(r"^int main\(")
CELL_MARK = re.compile(r"\x1e(\d+)\n")
PICTURE = re.compile(r"\x1d(.*?)\x1d\n?", re.DOTALL)


@dataclasses.dataclass
class Cell:
    markdown: bool
    first_line: int  # of the marker, from 0
    lines: list[str]

    def source(self) -> str:
        lines = [line for line in self.lines if not HIDDEN.search(line)]
        if self.markdown:
            lines = [re.sub(r"^[ \t]*// ?", "", line) for line in lines]
        text = textwrap.dedent("\n".join(lines)).strip("\n")
        return text if self.markdown else at_file_scope(text)


def at_file_scope(code: str) -> str:
    """Cells of main become cells of their own, where a lambda may use what others define, but captures nothing."""
    depth, lines = 0, []
    for line in code.split("\n"):
        if depth == 0:
            line = re.sub(r"= \[&\](?=[ ({])", "= []", line)
        depth += line.count("{") - line.count("}")
        lines.append(line)
    return "\n".join(lines)


def cells_of(text: str) -> list[Cell]:
    cells: list[Cell] = []
    for number, line in enumerate(text.split("\n")):
        marker = MARKER.match(line)
        if marker:
            cells.append(Cell(marker.group(1) is not None, number, []))
        elif cells:
            cells[-1].lines.append(line)
    return cells


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


def outputs_of(printed: str) -> list[dict]:
    outputs = []
    for part, text in enumerate(PICTURE.split(printed)):
        if part % 2:
            text = text[max(0, text.find("<svg")):]  # pages hold the element, without the prolog of a file
            outputs.append({"output_type": "display_data", "metadata": {},
                            "data": {"image/svg+xml": text.splitlines(True), "text/plain": ["a picture (SVG)"]}})
        elif text:
            outputs.append({"output_type": "stream", "name": "stdout", "text": text.splitlines(True)})
    return outputs


def assemble(source: pathlib.Path, output: pathlib.Path, notebook: pathlib.Path) -> None:
    parts = CELL_MARK.split(output.read_text(encoding="utf-8"))
    printed = {int(parts[i]): parts[i + 1] for i in range(1, len(parts), 2)}
    cells, count = [], 0
    for number, cell in enumerate(cells_of(source.read_text(encoding="utf-8"))):
        text = cell.source()
        if not text:
            continue
        entry = {"id": f"cell-{number}", "metadata": {}, "source": text.splitlines(True)}
        if cell.markdown:
            entry["cell_type"] = "markdown"
        else:
            count += 1
            entry |= {"cell_type": "code", "execution_count": count, "outputs": outputs_of(printed.get(number, ""))}
        cells.append(entry)
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "kernelspec": {"name": "xcpp20", "display_name": "C++20", "language": "cpp"},
            "language_info": {"name": "c++", "file_extension": ".cpp", "mimetype": "text/x-c++src"},
        },
        "cells": cells,
    }
    notebook.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    action, *paths = sys.argv[1:]
    {"instrument": instrument, "assemble": assemble}[action](*map(pathlib.Path, paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
