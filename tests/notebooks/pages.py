#!/usr/bin/env python3
"""Makes all pages of the course twice, as `./run notebooks` does, and checks them.

    pages.py ROOT PROGRAMS PAGE_TOOLS

PROGRAMS holds the notebooks' instrumented programs, PAGE_TOOLS is where `./run notebooks` installs Jupytext, nbformat
and nbconvert. Ends with 77 (skipped) where neither that Python nor the one on the PATH has them.
"""

import html.parser
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

PACKAGES = ("jupytext", "nbformat", "nbconvert")


def go_on_where_the_packages_are(tools: pathlib.Path) -> None:
    if all(map(importlib.util.find_spec, PACKAGES)):
        return
    for python in filter(None, (shutil.which("python3"), shutil.which(tools / "bin" / "python3"))):
        if subprocess.run([python, "-c", f"import {', '.join(PACKAGES)}"], capture_output=True, check=False).returncode == 0:
            os.execv(python, [python, *sys.argv])
    print(f"skipped: no Python here has {', '.join(PACKAGES)}; ./run notebooks installs them")
    raise SystemExit(77)


class Page(html.parser.HTMLParser):
    """What a page names: ids, links, and what a browser would fetch or run by itself."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str | None]] = []  # where to, and the link's own rel
        self.fetched = [mark for mark in ("url(http", "@import") if mark in text]  # by its style sheet
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        if "id" in named:
            self.ids.add(named["id"])
        if tag == "a" and "href" in named:
            self.links.append((named["href"], named.get("rel")))
        if tag in ("script", "iframe", "object", "embed") or (tag != "a" and "href" in named and not named["href"].startswith("#")):
            self.fetched.append(f"<{tag}>")
        if "src" in named and not named["src"].startswith("data:"):
            self.fetched.append(named["src"])


def check(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"failed: {what}")


def check_notebook(path: pathlib.Path) -> int:
    """Valid, executed, without an error; the count of its pictures."""
    import nbformat
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    check(notebook.metadata.kernelspec.name == "xcpp20", f"{path.name} names the kernel of xeus-cpp")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    check([cell.execution_count for cell in code] == list(range(1, len(code) + 1)), f"{path.name} ran from top to bottom")
    outputs = [output for cell in code for output in cell.outputs]
    check(any(output.output_type == "stream" for output in outputs), f"{path.name} has outputs")
    check(all(output.output_type != "error" for output in outputs), f"{path.name} has no error")
    for cell in notebook.cells:
        hidden = any(line.rstrip().endswith("// hidden") for line in cell.source.splitlines())
        check(not hidden and "int main(" not in cell.source, f"{path.name} shows nothing hidden")
        mathjax = cell.cell_type == "markdown" and any(mark in cell.source for mark in ("$", "\\(", "\\["))
        check(not mathjax, f"{path.name}: {cell.id} can be read without MathJax")
    pictures = [output.data["image/svg+xml"] for output in outputs if "image/svg+xml" in output.get("data", {})]
    check(all(svg.startswith("<svg") and svg.rstrip().endswith("</svg>") for svg in pictures), f"{path.name}: whole pictures")
    return len(pictures)


def check_exercises(root: pathlib.Path, name: str, notebook: pathlib.Path) -> None:
    """The last cell asks questions, and each has a test that answers it."""
    last = json.loads(notebook.read_text(encoding="utf-8"))["cells"][-1]
    text = "".join(last["source"])
    asked = re.findall(r"^(\d+)\. ", text.split("## Exercises")[-1], re.MULTILINE)
    number = int(name.split("_")[0])
    solutions = root / "tests" / "notebooks" / f"test_exercises_{number}.cpp"
    answered = set(re.findall(rf'"Exercise {number}\.(\d+)', solutions.read_text(encoding="utf-8")))
    check("## Exercises" in text and len(asked) > 0, f"{name} ends with exercises")
    check(set(asked) == answered, f"{name}: exercises {asked} have solutions, {sorted(answered)}")
    check(solutions.name in text, f"{name} says where its solutions are")


def check_links(pages: dict[str, Page]) -> int:
    followed = 0
    for name, page in pages.items():
        check(not page.fetched, f"{name} fetches nothing, but has {page.fetched[:3]}")
        for target, _ in page.links:
            where, anchor = urllib.parse.urldefrag(target)
            check(not urllib.parse.urlsplit(where).scheme, f"{name}: {target} stays among the pages")
            aim = pages.get(where or name)
            check(aim is not None, f"{name}: the link {target} leads somewhere")
            check(not anchor or urllib.parse.unquote(anchor) in aim.ids, f"{name}: the anchor {target} is there")
            followed += 1
    return followed


def check_way(pages: dict[str, Page]) -> None:
    """From the index every page is reached; each leads to the index and to its neighbours."""
    lessons = sorted(set(pages) - {"index.html"})
    check({target for target, _ in pages["index.html"].links} == set(lessons), "the index links every notebook, and nothing else")
    for place, name in enumerate(lessons):
        links = pages[name].links
        wanted = {("index.html", None)}
        wanted |= {(lessons[place - 1], "prev")} if place > 0 else set()
        wanted |= {(lessons[place + 1], "next")} if place + 1 < len(lessons) else set()
        check(wanted <= set(links), f"{name} leads to {sorted(target for target, _ in wanted)}")
        check(len({target for target, rel in links if rel}) == len(wanted) - 1, f"{name} has no other neighbours")


def main() -> int:
    root, programs, tools = map(pathlib.Path, sys.argv[1:])
    go_on_where_the_packages_are(tools)
    with tempfile.TemporaryDirectory() as scratch:
        folders = [pathlib.Path(scratch) / "first", pathlib.Path(scratch) / "second"]
        for folder in folders:
            subprocess.run([sys.executable, root / "scripts" / "notebook.py", root / "notebooks_cpp", programs, folder], check=True)
        first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
        names = sorted(path.stem for path in (root / "notebooks_cpp").glob("[0-9]*.cpp"))
        wanted = {f"{name}{ending}" for name in names for ending in (".ipynb", ".html")} | {"index.html"}
        check(len(names) > 0 and set(first) == wanted, "a notebook and a page for each source, and an index")
        for name in sorted(wanted):
            check(first[name] == second[name], f"{name} is the same in both runs")
        pictures = {name: check_notebook(folders[0] / f"{name}.ipynb") for name in names}
        for name in names:
            check_exercises(root, name, folders[0] / f"{name}.ipynb")
        pages = {name: Page(text.decode()) for name, text in first.items() if name.endswith(".html")}
        for name, count in pictures.items():
            check(first[f"{name}.html"].count(b"<svg") == count, f"the page {name} shows all pictures of the notebook")
        check(sum(pictures.values()) > 0, "some notebooks have pictures")
        check_way(pages)
        followed = check_links(pages)
    print(json.dumps({"notebooks": len(names), "pictures": sum(pictures.values()), "links": followed}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
