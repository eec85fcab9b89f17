#!/usr/bin/env python3
"""Runs clang-tidy over the C++ sources of a build tree, several at a time, and remembers which were clean.

    tidy.py BUILD [--jobs N] [FILE...]

BUILD holds compile_commands.json. A source is checked again only if it, a project header that it includes (directly
or not), its compile command, .clang-tidy or the version of clang-tidy changed since it was last clean; the memory is
BUILD/tidy-clean.json. CUDA sources are left to nvcc. Prints what clang-tidy found; ends with 1 if it found anything.
"""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
# What g++ understands and clang does not, and what has no meaning without code generation.
DROPPED = re.compile(r"^-(fno-gnu-unique|fconcepts.*|mno-avx256-split.*|Werror)$")


def header_folders() -> list[pathlib.Path]:
    return sorted(ROOT.glob("*/include")) + [ROOT / "tests"]


def closure(source: pathlib.Path, folders: list[pathlib.Path], texts: dict[pathlib.Path, bytes]) -> list[pathlib.Path]:
    """The source and the project's own headers that it includes, directly or not."""
    seen: set[pathlib.Path] = set()
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        if path not in texts:
            texts[path] = path.read_bytes()
        for name in INCLUDE.findall(texts[path].decode("utf-8", "replace")):
            for folder in [path.parent, *folders]:
                candidate = (folder / name).resolve()
                if candidate.is_file() and candidate.is_relative_to(ROOT):
                    waiting.append(candidate)
                    break
    return sorted(seen)


def main() -> int:
    parser = argparse.ArgumentParser(description="clang-tidy with a memory")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--times", action="store_true", help="print how long each source took")
    options = parser.parse_intermixed_args()

    tidy = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if tidy is None:
        print("tidy.py: clang-tidy is not on the PATH; install Debian's package clang-tidy", file=sys.stderr)
        return 3
    version = subprocess.run([tidy, "--version"], check=True, capture_output=True).stdout
    config = (ROOT / ".clang-tidy").read_bytes()

    database = json.loads((options.build / "compile_commands.json").read_text())
    commands = {}
    for entry in database:
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        inside = path.is_relative_to(ROOT) and not path.is_relative_to(options.build.resolve())
        if path.suffix == ".cpp" and inside:
            commands.setdefault(path, entry["command"])
    wanted = [path.resolve() for path in options.files] or sorted(commands)
    for path in wanted:
        if path not in commands:
            print(f"tidy.py: {path} is not in {options.build}/compile_commands.json", file=sys.stderr)
            return 2

    memory_file = options.build / "tidy-clean.json"
    memory = set(json.loads(memory_file.read_text())) if memory_file.is_file() else set()
    folders = header_folders()
    texts: dict[pathlib.Path, bytes] = {}

    def key(path: pathlib.Path) -> str:
        digest = hashlib.sha256(version + config + commands[path].encode())
        for part in closure(path, folders, texts):
            digest.update(str(part.relative_to(ROOT)).encode() + b"\0" + texts[part] + b"\0")
        return digest.hexdigest()

    keys = {path: key(path) for path in wanted}
    waiting = [path for path in wanted if keys[path] not in memory]

    # A database of our own, without the flags that only g++ knows.
    folder = options.build / "tidy"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps([
        {"directory": str(options.build.resolve()), "file": str(path),
         "command": " ".join(word for word in command.split(" ") if not DROPPED.match(word))}
        for path, command in commands.items()
    ]))

    def check(path: pathlib.Path):
        began = time.monotonic()
        done = subprocess.run(
            [tidy, "--quiet", "-p", str(folder), str(path)], capture_output=True, text=True, check=False
        )
        # clang-tidy counts suppressed warnings of foreign headers on stderr; only real errors matter there.
        return path, done.returncode, done.stdout, done.stderr, time.monotonic() - began

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max(1, options.jobs)) as pool:
        for path, code, out, err, seconds in pool.map(check, waiting):
            if options.times:
                print(f"{seconds:6.1f} s  {path.relative_to(ROOT)}")
            if code == 0 and not out.strip():
                memory.add(keys[path])
            else:
                failed += 1
                print(out.strip() or err.strip())
    keep = {key for key in memory if key in keys.values()} if not options.files else memory
    temporary = memory_file.with_suffix(".new")
    temporary.write_text(json.dumps(sorted(keep)))
    temporary.replace(memory_file)
    print(f"clang-tidy: {len(wanted)} sources, {len(waiting)} checked now, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
