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
for file in tests/data/fa3/*.safetensors; do
  show audit "$file"
done

title 'Five schedules of the same work: causal mask, 8 x 8 tiles, 2 heads, 8 SMs'
show compare --mask causal --tiles 8 --heads 2

title 'Pictures'
for schedule in ascending symmetric-shift; do
  for view in timeline dag; do
    "$dashlab" render --mask causal --tiles 8 --heads 2 --schedule "$schedule" --view "$view" \
      -o "$folder/$schedule-$view.svg"
  done
done
printf 'timelines: %s\n           %s\n' "$folder/ascending-timeline.svg" "$folder/symmetric-shift-timeline.svg"
printf 'DAGs:      %s\n           %s\n' "$folder/ascending-dag.svg" "$folder/symmetric-shift-dag.svg"
