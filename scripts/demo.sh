#!/bin/sh
# demo.sh DASHLAB FOLDER: the first minute with the program. Audits recorded GPU gradients, compares schedules,
# draws pictures into FOLDER. Run it as `./run demo`.
set -eu
dashlab=$1
folder=$2
mkdir -p "$folder"

title() { printf '\n== %s ==\n' "$*"; }
# Shows the command as a reader would type it, then runs it.
show() {
  printf '$ dashlab %s\n' "$*"
  "$dashlab" "$@"
}

title 'Are these the bits that the GPU kernels must give? Recorded on an H200, recomputed here'
for file in tests/data/fa3/*.safetensors tests/data/fa2/*.safetensors; do
  show audit "$file"
done

title 'Schedules of the same work: causal mask, 8 x 8 tiles, 2 heads, 8 SMs'
show compare --mask causal --tiles 8 --heads 2

title 'Pictures'
common='--mask causal --tiles 8 --heads 2'
draw() {
  # shellcheck disable=SC2086  # $common is a list of words
  "$dashlab" render $common "$@" >/dev/null
}
draw --view compare --schedule ascending,descending,spt,symmetric-shift -o "$folder/compare.svg"
draw --view timeline --schedule descending -o "$folder/timeline.svg"
draw --view dag --schedule symmetric-shift -o "$folder/dag.svg"
printf 'schedules on one time axis:  %s\n' "$folder/compare.svg"
printf 'timeline of one schedule:    %s\n' "$folder/timeline.svg"
printf 'DAG of one schedule:         %s\n' "$folder/dag.svg"
