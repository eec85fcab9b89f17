#!/usr/bin/env python3
"""Checks that every relative link of the project's Markdown files leads somewhere: links.py ROOT.

A link to a file or folder must exist inside the project; a link to a heading (#anchor) must name one. Links to the
web are not followed. Prints one line per broken link and ends with 1 if there is any.
"""

import pathlib
import re
import sys
import urllib.parse

CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
TAG = re.compile(r"<(?:img|a|source)\b[^>]*?\b(?:src|href|srcset)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
SKIPPED = re.compile(r"^(?:build|build-.*|install|\.git|\.cache|_deps)$")


def blank(match: re.Match) -> str:
    """Code holds no links; newlines stay so that line numbers do."""
    return "\n" * match.group(0).count("\n")


def anchors(text: str) -> set[str]:
    """The ids that GitHub gives to the headings of a file."""
    found: set[str] = set()
    for heading in HEADING.findall(CODE_BLOCK.sub(blank, text)):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        name, count = slug, 0
        while name in found:
            count += 1
            name = f"{slug}-{count}"
        found.add(name)
    return found


def markdown_files(root: pathlib.Path) -> list[pathlib.Path]:
    return sorted(
        path for path in root.rglob("*.md")
        if not any(SKIPPED.match(part) for part in path.relative_to(root).parts[:-1])
    )


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    files = markdown_files(root)
    checked = broken = 0
    for path in files:
        text = path.read_text(encoding="utf-8")
        prose = CODE_SPAN.sub("", CODE_BLOCK.sub(blank, text))
        for pattern in (LINK, DEFINITION, TAG):
            for match in pattern.finditer(prose):
                target = match.group(1)
                if re.match(r"^(?:https?|mailto):", target):
                    continue
                checked += 1
                place = f"{path.relative_to(root)}:{prose.count(chr(10), 0, match.start()) + 1}"
                file_part, _, anchor = target.partition("#")
                aim = (path.parent / urllib.parse.unquote(file_part)).resolve() if file_part else path
                if not aim.is_relative_to(root) or not aim.exists():
                    print(f"{place}: {target} leads nowhere")
                    broken += 1
                elif anchor and aim.suffix == ".md" and anchor not in anchors(aim.read_text(encoding="utf-8")):
                    print(f"{place}: {target}: no such heading")
                    broken += 1
    print(f"links: {len(files)} files, {checked} links, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
