#!/usr/bin/env python3
"""The house rules that a machine can check, on every file that git tracks or would track.

No paths of one person's machine, no to-do markers, no merge conflicts, no generated or huge files; text files end
in one newline and carry no trailing blanks; C++ sources say in their first line what they are for and stay short.
Prints one line per finding, `file:line: what`, and ends with 1 if there is any.
"""

import pathlib
import re
import subprocess
import sys

SOURCES = {".cpp", ".hpp", ".cu", ".cuh"}
TEXT = SOURCES | {".md", ".txt", ".cmake", ".py", ".sh", ".json", ".cff", ".yml", ".csv", ".html", ".css", ".js", ".in", ""}
GENERATED = {".o", ".a", ".so", ".pyc", ".ipynb", ".gcda", ".gcno", ".log", ".tmp", ".orig", ".rej"}
LARGEST_FILE = 4 << 20
LONGEST_SOURCE = 500  # lines; the aim is 400

# Written with classes ([D]) so that this file does not find itself.
PATTERNS = [
    (re.compile(r"(?<![\w.$}*])/(?:wor[k]|roo[t]|hom[e](?!/web_user)|User[s]|tm[p])/\w"), "path of one machine"),
    (re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b"), "marker of unfinished work"),
    (re.compile(r"^(?:<{7}|>{7}|={7})(?: |$)"), "merge conflict"),
    (re.compile(r"[ \t]+$"), "trailing blanks"),
    (re.compile(r"\r"), "carriage return"),
]


def project_files() -> list[pathlib.Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], check=True, capture_output=True
    ).stdout.decode()
    return [path for path in map(pathlib.Path, sorted(set(listed.split("\0")) - {""})) if path.is_file()]


def implements_header(path: pathlib.Path, lines: list[str]) -> bool:
    """x.cpp or x.cu that includes x.hpp: the header says what both are for."""
    own = re.compile(rf'^#include ".*\b{re.escape(path.stem)}\.(?:hpp|cuh)"$')
    return path.suffix in {".cpp", ".cu"} and any(own.match(line) for line in lines)


def findings(path: pathlib.Path):
    if path.suffix in GENERATED:
        yield 1, "generated files do not belong into the repository"
    if path.stat().st_size > LARGEST_FILE:
        yield 1, f"larger than {LARGEST_FILE >> 20} MiB"
    if path.suffix not in TEXT:
        return
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        yield 1, "not UTF-8"
        return
    if not text.strip():
        yield 1, "empty file"
        return
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        for pattern, what in PATTERNS:
            if pattern.search(line):
                yield number, what
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield len(lines), "the file must end in exactly one newline"
    if path.suffix in SOURCES:
        if not lines[0].startswith("//") and not implements_header(path, lines):
            yield 1, "the first line must be a comment that says what the file is for"
        if len(lines) - 1 > LONGEST_SOURCE:
            yield LONGEST_SOURCE + 1, f"{len(lines) - 1} lines; split it, {LONGEST_SOURCE} is the most"


def main() -> int:
    files = project_files()
    count = 0
    for path in files:
        for number, what in findings(path):
            print(f"{path}:{number}: {what}")
            count += 1
    print(f"house rules: {len(files)} files, {count} findings")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
