#!/usr/bin/env python3
"""Writes the command-line reference from the program's own --help.

    cli_reference.py DASHLAB docs/cli.md            writes the file
    cli_reference.py DASHLAB docs/cli.md --check    ends with 1 if the file is not what it would write

A program built without an optional command (`bench` needs DASHLAB_BENCH=ON) leaves that command's text as it stands.
"""

import difflib
import pathlib
import re
import subprocess
import sys

OPTIONAL = ["bench"]

HEAD = """# The command line

Made from `--help` by `scripts/cli_reference.py build/bin/dashlab docs/cli.md`; a test says when it is out of date.
"""


def help_of(program: str, *command: str) -> str:
    done = subprocess.run(
        ["dashlab", *command, "--help"], executable=program, check=True, capture_output=True, text=True,
        stdin=subprocess.DEVNULL,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").split("\n"))


def kept(present: str, name: str) -> tuple[str, str] | None:
    """The line in the list of commands, and the section, of a command that this program was built without."""
    line = re.search(rf"^  {name} +.*$", present, re.MULTILINE)
    section = re.search(rf"^## {name}\n\n```text\n(.*?)\n```$", present, re.MULTILINE | re.DOTALL)
    return (line.group(0), section.group(1)) if line and section else None


def reference(program: str, present: str) -> str:
    top = help_of(program)
    section = re.search(r"^Subcommands:\n((?:[ \t]+.*\n?)+)", top, re.MULTILINE)
    if section is None:
        raise SystemExit("cli_reference.py: `dashlab --help` lists no subcommands")
    names = re.findall(r"^ {1,4}([a-z][a-z-]*)\b", section.group(1), re.MULTILINE)
    texts = {name: help_of(program, name) for name in names}
    for name in OPTIONAL:
        old = kept(present, name)
        if name not in texts and old:
            top += "\n" + old[0]
            texts[name] = old[1]
    parts = [HEAD, "```text", top, "```"]
    for name, text in texts.items():
        parts += ["", f"## {name}", "", "```text", text, "```"]
    return "\n".join(parts) + "\n"


def main() -> int:
    program, file = sys.argv[1], pathlib.Path(sys.argv[2])
    present = file.read_text(encoding="utf-8") if file.is_file() else ""
    wanted = reference(program, present)
    if "--check" not in sys.argv[3:]:
        file.write_text(wanted, encoding="utf-8")
        return 0
    if present == wanted:
        return 0
    sys.stdout.writelines(difflib.unified_diff(
        present.splitlines(True), wanted.splitlines(True), str(file), "what --help says now"))
    print(f"out of date; run: scripts/cli_reference.py build/bin/dashlab {file}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
