#!/bin/sh
# lint.sh BUILD: every check of the sources that needs no running program. BUILD holds compile_commands.json.
# Run it as `./run lint`. All checks run even if one fails, so that one call shows everything.
set -eu
build=$1
failed=''

# The layout is that of clang-format 14 (Debian 12); other versions may lay out a line or two differently.
format=clang-format
if command -v clang-format-14 >/dev/null 2>&1; then format=clang-format-14; fi

check() {
  name=$1
  shift
  began=$(date +%s)
  if "$@"; then result=ok; else
    result=FAILED
    failed="$failed $name"
  fi
  printf 'lint: %-12s %s (%d s)\n' "$name" "$result" $(($(date +%s) - began))
}

layout() {
  git ls-files -z -co --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh' | xargs -0 "$format" --dry-run -Werror --ferror-limit=5
}

scripts_check() {
  git ls-files -z -co --exclude-standard run .ci/run '*.sh' | xargs -0 shellcheck
}

check house-rules python3 scripts/house_rules.py
check layout layout
check shellcheck scripts_check
check clang-tidy python3 scripts/tidy.py "$build" --jobs "${DASHLAB_JOBS:-2}"

if [ -n "$failed" ]; then
  printf 'lint: failed:%s\n' "$failed" >&2
  exit 1
fi
echo 'lint: all clean'
