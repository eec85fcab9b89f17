#!/bin/sh
# build.sh: compiles core and the explorer to WebAssembly, into dashlab.js beside this file (program and all in one, so
# that the page also opens from a folder). Needs emscripten, fmt and nlohmann-json (Debian: emscripten libfmt-dev
# nlohmann-json3-dev). Run it when core or viz has changed.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
command -v em++ >/dev/null || { echo 'build.sh: em++ not found; install the package emscripten' >&2; exit 3; }
work=$root/build/playground
mkdir -p "$work/include"
# Debian's emscripten uses Debian's acorn, which another Node.js would not find.
export NODE_PATH="${NODE_PATH:-}:/usr/share/nodejs"
# Only these two of the system's headers: the rest of /usr/include is not for this target.
ln -sfn /usr/include/fmt "$work/include/fmt"
ln -sfn /usr/include/nlohmann "$work/include/nlohmann"

# The explorer's assets, as CMake makes them.
cat > "$work/assets.cmake" <<'CMAKE'
set(explorer ${ROOT}/viz/src/explorer)
file(READ ${explorer}/explorer.html explorer_template)
file(READ ${explorer}/explorer.css explorer_css)
set(explorer_js "")
foreach(part start model draw page)
  file(READ ${explorer}/${part}.js text)
  string(APPEND explorer_js "${text}")
endforeach()
configure_file(${ROOT}/viz/src/explorer_assets.cpp.in ${OUT} @ONLY)
CMAKE
cmake -DROOT="$root" -DOUT="$work/explorer_assets.cpp" -P "$work/assets.cmake"

# size_t has 32 bits there: narrowing of 64-bit counts is meant.
flags="-std=c++20 -O2 -fexceptions -Wno-c++11-narrowing -DFMT_HEADER_ONLY -include $here/ranges.hpp -I$work/include
  -I$root/core/include -I$root/core/src -I$root/viz/include -I$root/viz/src"
for source in "$root"/core/src/*.cpp "$root"/core/src/schedulers/*.cpp "$root"/core/src/optimize/*.cpp \
  "$root"/viz/src/axis.cpp "$root"/viz/src/bubbles.cpp \
  "$root"/viz/src/explorer.cpp "$root"/viz/src/figures.cpp "$root"/viz/src/palette.cpp "$root"/viz/src/scale.cpp \
  "$root"/viz/src/text.cpp "$work/explorer_assets.cpp" "$here/playground.cpp"; do
  object=$work/$(basename "$source" .cpp).o
  # Compiled again when anything in core or viz is newer.
  if [ -f "$object" ] && [ -z "$(find "$root/core" "$root/viz" "$here" "$source" -newer "$object" \( -name '*.hpp' -o -path "$source" \))" ]; then
    continue
  fi
  echo "$source"
  # shellcheck disable=SC2086  # the flags are words
  em++ $flags -c "$source" -o "$object"
done
em++ -O2 -fexceptions "$work"/*.o -o "$work/dashlab.js" -sMODULARIZE=1 -sEXPORT_NAME=createDashlab -sSINGLE_FILE=1 \
  -sALLOW_MEMORY_GROWTH=1 -sENVIRONMENT=web -sFILESYSTEM=0 -sEXPORTED_RUNTIME_METHODS=ccall
# One line of program, without what would trip the house rules on text.
sed 's/[ \t]*$//' "$work/dashlab.js" > "$here/dashlab.js"
ls -l "$here/dashlab.js"
