#!/usr/bin/env python3
"""Runs the course and writes its pages: executed notebooks, HTML and an index.

    notebook.py COURSE PROGRAMS FOLDER

COURSE holds the sources NN_NAME.cpp, README.md, whose table is the index, and page.html.j2. PROGRAMS holds their
instrumented copies (literate.py), compiled, as NN_NAME_cells. Into FOLDER go NN_NAME.ipynb, NN_NAME.html and index.html.
Jupytext reads the cells, nbformat writes the notebooks, nbconvert the pages; `./run notebooks` installs the three.
"""

import os
import pathlib
import re
import subprocess
import sys

import literate

try:
    import jupytext
    import nbconvert
    import nbformat
    from nbformat import v4
    from traitlets.config import Config
except ImportError as error:
    print(f"notebook.py: {error} ({sys.executable}); `./run notebooks` installs what it needs", file=sys.stderr)
    raise SystemExit(3) from None

# What notebook.hpp prints: the marks at the start of a cell and around a picture.
CELL_MARK = re.compile(r"\x1e(\d+)\n")
PICTURE = re.compile(r"\x1d(.*?)\x1d\n?", re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
XEUS_CPP = {
    "kernelspec": {"name": "xcpp20", "display_name": "C++20", "language": "cpp"},
    "language_info": {"name": "c++", "file_extension": ".cpp", "mimetype": "text/x-c++src"},
}


def run(name: str, program: pathlib.Path) -> dict[int, str]:
    """What each cell prints."""
    if not program.exists():
        raise SystemExit(f"notebook.py: there is no {program}; the target `notebooks` of the build makes it")
    done = subprocess.run([program.resolve()], env=os.environ | {"DASHLAB_NOTEBOOK": "1"}, capture_output=True,
                          encoding="utf-8", check=False)
    parts = CELL_MARK.split(done.stdout)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        reason = said[-1].strip().removeprefix("what():").strip() if said else f"it ended with {done.returncode}"
        where = f"cell {parts[-2]}" if len(parts) > 1 else "before its first cell"
        raise SystemExit(f"notebook.py: {name} failed in {where}: {reason}")
    return {int(parts[i]): parts[i + 1] for i in range(1, len(parts), 2)}


def outputs_of(printed: str) -> list[nbformat.NotebookNode]:
    outputs = []
    for part, text in enumerate(PICTURE.split(printed)):
        if part % 2:
            svg = text[max(0, text.find("<svg")):]  # pages hold the element, without the prolog of a file
            outputs.append(v4.new_output("display_data", {"image/svg+xml": svg, "text/plain": "a picture (SVG)"}))
        elif text:
            outputs.append(v4.new_output("stream", name="stdout", text=text))
    return outputs


def title_of(notebook: nbformat.NotebookNode) -> str:
    heading = re.match(r"# (.+)", notebook.cells[0].source)
    if heading is None:
        raise SystemExit("notebook.py: the first cell of a notebook must begin with its title, `# ...`")
    return heading.group(1)


def executed(source: pathlib.Path, program: pathlib.Path) -> nbformat.NotebookNode:
    script = literate.flat_script(source.read_text(encoding="utf-8"))
    notebook = jupytext.reads(script, fmt="cpp:percent")
    printed = run(source.stem, program)
    count = 0
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # the same in every run
        cell.metadata.clear()
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = outputs_of(printed.pop(number, ""))
    if printed:
        raise SystemExit(f"notebook.py: {source.name}: there are outputs of cells {sorted(printed)}, but no such code cells")
    notebook.metadata = nbformat.from_dict(XEUS_CPP | {"title": title_of(notebook)})
    nbformat.validate(notebook)
    return notebook


def index_of(course: pathlib.Path, names: list[str]) -> nbformat.NotebookNode:
    """The README up to its first section; links lead to pages or are none."""
    def to_page(link: re.Match) -> str:
        text, target = link.groups()
        name = target.removesuffix(".cpp")
        return f"[{text}]({name}.html)" if name in names else text

    readme = jupytext.reads((course / "README.md").read_text(encoding="utf-8"), fmt="md")
    text = LINK.sub(to_page, readme.cells[0].source.split("\n## ")[0])
    index = v4.new_notebook(cells=[v4.new_markdown_cell(text, id="index")])
    index.metadata.title = title_of(index)
    return index


def write(path: pathlib.Path, save) -> None:
    """Whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    save(part)
    part.replace(path)


def main() -> int:
    if len(sys.argv) != 4:
        print(f"usage: {__doc__.splitlines()[2].strip()}", file=sys.stderr)
        return 2
    course, programs, folder = map(pathlib.Path, sys.argv[1:])
    names = sorted(path.stem for path in course.glob("[0-9][0-9]_*.cpp"))
    folder.mkdir(parents=True, exist_ok=True)
    exporter = nbconvert.HTMLExporter(
        template_file=str(course.resolve() / "page.html.j2"), exclude_anchor_links=True,
        config=Config({"CSSHTMLHeaderPreprocessor": {"style": "default"}}))  # JupyterLab's own colours need its style sheet
    notebooks = {name: executed(course / f"{name}.cpp", programs / f"{name}_cells") for name in names}

    def page(notebook: nbformat.NotebookNode, name: str, neighbours: dict) -> None:
        html, _ = exporter.from_notebook_node(notebook, resources={"course": neighbours})
        write(folder / f"{name}.html", lambda path: path.write_text(html, encoding="utf-8"))

    def link(place: int) -> dict | None:
        if not 0 <= place < len(names):
            return None
        return {"page": f"{names[place]}.html", "title": notebooks[names[place]].metadata.title}

    for place, (name, notebook) in enumerate(notebooks.items()):
        write(folder / f"{name}.ipynb", lambda path, of=notebook: nbformat.write(of, path))
        page(notebook, name, {"index": "index.html", "previous": link(place - 1), "next": link(place + 1)})
        print(f"{folder / name}.ipynb and .html")
    page(index_of(course, names), "index", {"next": link(0)})
    print(folder / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
