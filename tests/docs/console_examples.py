#!/usr/bin/env python3
"""Runs the examples of a Markdown file: every line `$ COMMAND` of its ```console blocks.

    console_examples.py FILE.md BIN ROOT

The commands of one file run in one temporary folder, in order, with BIN first on the PATH; `tests` and `docs` in that
folder are the project's own, so examples can name recorded data. Each must end with 0, or with the number in a trailing
comment `# ends with N`. Lines below a command are the output it must print, on stdout and stderr together; a line
`...` stands for any lines. A command without output lines may print anything. ```python blocks must be valid Python.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\s*$")
EXPECTED_CODE = re.compile(r"\s+# ends with (\d+)\s*$")


def blocks(text: str):
    """Yields (language, line number of the first line, lines) of each fenced block."""
    language, first, lines = None, 0, []
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line.strip())
        if language is None and fence:
            language, first, lines = fence.group(1), number + 1, []
        elif language is not None and line.strip() == "```":
            yield language, first, lines
            language = None
        elif language is not None:
            lines.append(line)
    if language is not None:
        raise SystemExit(f"line {first - 1}: the block is never closed")


def commands(first: int, lines: list[str]):
    """Yields (line number, command, expected code, expected output lines)."""
    current = None
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            if current:
                yield current
            code = EXPECTED_CODE.search(line)
            text = EXPECTED_CODE.sub("", line[2:])
            current = (number, text, int(code.group(1)) if code else 0, [])
        elif current and current[1].endswith("\\"):
            code = EXPECTED_CODE.search(line)
            text = current[1][:-1] + EXPECTED_CODE.sub("", line)
            current = (current[0], text, int(code.group(1)) if code else 0, [])
        elif current:
            current[3].append(line)
        elif line.strip():
            raise SystemExit(f"line {number}: output before the first command")
    if current:
        yield current


def matches(expected: list[str], printed: list[str]) -> bool:
    if not expected:
        return not printed
    if expected[0].strip() == "...":
        return any(matches(expected[1:], printed[skip:]) for skip in range(len(printed) + 1))
    return bool(printed) and expected[0].rstrip() == printed[0].rstrip() and matches(expected[1:], printed[1:])


def main() -> int:
    document, programs, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    environment = dict(os.environ, PATH=f"{programs}{os.pathsep}{os.environ['PATH']}", LC_ALL="C.UTF-8")
    environment.pop("COLUMNS", None)
    ran = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in ("tests", "docs"):
            (pathlib.Path(folder) / name).symlink_to(root / name)
        for language, first, lines in blocks(document.read_text(encoding="utf-8")):
            if language == "python":
                compile("\n" * (first - 1) + "\n".join(lines), str(document), "exec")
            if language != "console":
                continue
            for number, command, code, expected in commands(first, lines):
                ran += 1
                done = subprocess.run(
                    ["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False,
                )
                printed = done.stdout.decode("utf-8", "replace").rstrip("\n").split("\n")
                while expected and not expected[-1].strip():
                    expected.pop()
                if done.returncode != code:
                    failed += 1
                    print(f"{document.name}:{number}: $ {command}\nended with {done.returncode}, expected {code}; it printed:")
                    print("\n".join(printed))
                elif expected and not matches(expected, printed):
                    failed += 1
                    print(f"{document.name}:{number}: $ {command}\nprinted:")
                    print("\n".join(printed))
                    print("but the document shows:")
                    print("\n".join(expected))
    print(f"{document.name}: {ran} examples, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
