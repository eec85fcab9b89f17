#!/usr/bin/env python3
"""Writes the command-line reference from the program's own --help.

    cli_reference.py DASHLAB docs/cli.md            writes the file
    cli_reference.py DASHLAB docs/cli.md --check    ends with 1 if the file is not what it would write
"""

import difflib
import pathlib
import re
import subprocess
import sys

HEAD = """# The command line

Made from `--help` by `scripts/cli_reference.py build/bin/dashlab docs/cli.md`; a test says when it is out of date.
"""


def help_of(program: str, *command: str) -> str:
    done = subprocess.run(
        ["dashlab", *command, "--help"], executable=program, check=True, capture_output=True, text=True,
        stdin=subprocess.DEVNULL,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").split("\n"))


def reference(program: str) -> str:
    top = help_of(program)
    section = re.search(r"^Subcommands:\n((?:[ \t]+.*\n?)+)", top, re.MULTILINE)
    if section is None:
        raise SystemExit("cli_reference.py: `dashlab --help` lists no subcommands")
    names = re.findall(r"^ {1,4}([a-z][a-z-]*)\b", section.group(1), re.MULTILINE)
    parts = [HEAD, "```text", top, "```", ""]
    for name in names:
        parts += [f"## {name}", "", "```text", help_of(program, name), "```", ""]
    return "\n".join(parts)


def main() -> int:
    program, file = sys.argv[1], pathlib.Path(sys.argv[2])
    wanted = reference(program)
    if "--check" not in sys.argv[3:]:
        file.write_text(wanted, encoding="utf-8")
        return 0
    present = file.read_text(encoding="utf-8") if file.is_file() else ""
    if present == wanted:
        return 0
    sys.stdout.writelines(difflib.unified_diff(
        present.splitlines(True), wanted.splitlines(True), str(file), "what --help says now"))
    print(f"out of date; run: scripts/cli_reference.py build/bin/dashlab {file}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
