"""Checks that the example of CONTRIBUTING.md is the code that the tests compile: contributing.py ROOT."""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
source = (root / "tests/core/test_new_schedule.cpp").read_text()
document = (root / "CONTRIBUTING.md").read_text()
parts = re.findall(r"^// begin: (\S+)\n(.*?)^// end$", source, re.S | re.M)
missing = [name for name, text in parts if "```cpp\n" + text.strip() + "\n```" not in document]
lines = sum(text.strip().count("\n") + 1 for _, text in parts)
if len(parts) != 2 or missing or lines >= 50:
    sys.exit(f"CONTRIBUTING.md: {len(parts)} parts, {lines} lines (under 50 are promised), not word for word: {missing}")
print(f"the example stands word for word, {lines} lines with its test")
