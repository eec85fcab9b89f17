#!/usr/bin/env python3
"""Runs Doxygen over the public headers and ends with 1 if a public name is undocumented or a comment is malformed.

    api.py DOXYGEN ROOT OUTPUT

Two things need no comment of their own: fields of a struct that has one (their names are the words of the map of the
documentation), and what the language defines: copies, moves, destructors, assignments and comparisons.
"""

import pathlib
import re
import subprocess
import sys

UNDOCUMENTED = re.compile(r"Member (?P<name>.*) \((?P<kind>\w+)\) of (?P<scope>\w+) (?P<owner>\S+) is not documented")
COMPOUND = re.compile(r"Compound (\S+) is not documented")


def needs_none(warning: str, bare: set[str]) -> bool:
    member = UNDOCUMENTED.search(warning)
    if not member:
        return False
    name, owner = member["name"], member["owner"]
    if member["kind"] == "variable" and member["scope"] == "struct":
        return owner not in bare
    short = owner.rsplit("::", 1)[-1]
    special = rf"(~{short}\(\)|{short}\(\)|{short}\((const )?{short} ?&&?[ \w]*\)|operator(=|==|<=>)\()"
    return re.search(special, name) is not None


def main() -> int:
    doxygen, root, output = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    output.mkdir(parents=True, exist_ok=True)
    settings = (root / "Doxyfile").read_text(encoding="utf-8") + f'\nOUTPUT_DIRECTORY = "{output}"\n'
    done = subprocess.run([doxygen, "-"], input=settings, cwd=root, capture_output=True, text=True, check=True)
    warnings = [line for line in done.stderr.splitlines() if "warning:" in line or "error:" in line]
    bare = {match[1] for line in warnings if (match := COMPOUND.search(line))}
    found = [line for line in warnings if not needs_none(line, bare)]
    for line in found:
        print(line.replace(f"{root}/", "").replace("warning: ", ""))
    print(f"api: {len(found)} names or comments to mend")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
