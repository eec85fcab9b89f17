#!/usr/bin/env python3
"""Runs a notebook cell by cell, as somebody would who types it into clang-repl, and checks what comes out.

    interactive.py CLANG_REPL LIBRARY PROGRAM NAME.cpp TEST_DATA INCLUDE...

LIBRARY holds DashLab as one shared library, PROGRAM is the same notebook compiled. clang-repl ends with 0 whatever
happens, so its messages are read: no error may be among them, and its output must be that of the program.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import literate  # noqa: E402

LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'')
CODE = re.compile(r'(R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])\')|//[^\n]*')


def statements(code: str):
    """Splits a cell where its braces are closed and a statement ends; clang-repl runs one at a time. Comments go,
    since a line that continues would end in them; lines of a raw string become one."""
    code = CODE.sub(lambda m: raw_to_plain(m.group(1)) if m.group(1) else "", code)
    lines, depth = [], 0
    for line in code.split("\n"):
        line = line.rstrip()
        if not line:
            continue
        if line.startswith("#"):
            yield line
            continue
        lines.append(line)
        bare = LITERAL.sub("", line)
        depth += sum(bare.count(c) for c in "{(") - sum(bare.count(c) for c in "})")
        if depth == 0 and line[-1] in ";}":
            yield " \\\n".join(lines)
            lines = []
    if lines:
        raise SystemExit(f"interactive.py: this never ends: {lines[0]}")


def raw_to_plain(literal: str) -> str:
    if not literal.startswith("R"):
        return literal
    text = literal[3:-2].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def script(source: pathlib.Path, library: str) -> str:
    entered = [f"%lib {library}"]
    for cell in literate.cells_of(source.read_text(encoding="utf-8")):
        if not cell.markdown:
            entered += statements(literate.at_file_scope(cell.text))
    # Leave at once: clang-repl 19 frees the code before it destroys what the cells made.
    return "\n".join([*entered, "std::cout << std::flush;", "std::_Exit(0);", ""])


def main() -> int:
    clang_repl, library, program, source, test_data, *includes = sys.argv[1:]
    flags = ["-std=c++20", "-w", f'-DDASHLAB_TEST_DATA="{test_data}"', *(f"-I{folder}" for folder in includes)]
    plain = {key: value for key, value in os.environ.items() if key != "DASHLAB_NOTEBOOK"}
    done = subprocess.run(
        [clang_repl, *(part for flag in flags for part in ("-Xcc", flag))], input=script(pathlib.Path(source), library),
        capture_output=True, text=True, env=plain, check=False,
    )
    wanted = subprocess.run([program], capture_output=True, text=True, env=plain, check=True).stdout
    if done.returncode != 0 or re.search(r"\berror:", done.stderr) or done.stdout != wanted:
        sys.stdout.writelines(difflib.unified_diff(
            wanted.splitlines(True), done.stdout.splitlines(True), "compiled", "cell by cell"))
        print(done.stderr)
        print(f"clang-repl ended with {done.returncode}")
        return 1
    print(f"{len(wanted.splitlines())} lines, the same cell by cell")
    return 0


if __name__ == "__main__":
    sys.exit(main())
