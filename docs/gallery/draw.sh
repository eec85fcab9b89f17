#!/bin/sh
# draw.sh DASHLAB: draws every picture of docs/gallery.md and the README's again, into docs/img.
set -eu
case $1 in /*) dashlab=$1 ;; *) dashlab=$PWD/$1 ;; esac
cd "$(dirname -- "$0")/../img"

full='--mask full --tiles 8 --heads 4'
causal='--mask causal --tiles 8 --heads 4'
documents='--mask documents:3,1,4 --tiles 8 --heads 4 --sms 8'

# shellcheck disable=SC2086  # the flags are words
{
  "$dashlab" render $full --schedule ascending,shift -o full-compare.svg
  "$dashlab" render --mask full --tiles 8 --schedule shift --view dag -o full-shift-dag.svg
  "$dashlab" render $causal --schedule ascending,descending,spt,symmetric-shift -o causal-compare.svg
  "$dashlab" render $causal --schedule ascending,two-pass,spt,descending,symmetric-shift -o compare-causal-8.png
  "$dashlab" render --mask causal --tiles 8 --schedule ascending --view dag -o causal-ascending-dag.svg
  "$dashlab" render --mask causal --tiles 8 --heads 2 --schedule symmetric-shift --view dag -o causal-symmetric-shift-dag.svg
  "$dashlab" render $causal --schedule ascending,descending,spt,symmetric-shift -o causal.html
  "$dashlab" render $documents --schedule spt -o documents-timeline.svg
  "$dashlab" render $documents --schedule ascending,descending,spt -o documents-compare.svg
  "$dashlab" render --mask causal --tiles 128 --heads 13 --sms 132 --schedule ascending -o large-timeline.svg
}
for schedule in ascending symmetric-shift; do
  "$dashlab" render --mask causal --seqlen 2048 --heads 4 --head-dim 64 --sms 16 --schedule "$schedule" \
    --model overlapped:2 --reduce 0.45 --measured "../gallery/h200-$schedule.timeline.json" -o "h200-$schedule.svg"
done
for name in window-deadlock window-skipped; do
  # These two are invalid: drawn, and ended with 1.
  "$dashlab" render --schedule "../gallery/$name.json" --view dag -o "$name.svg" || [ $? -eq 1 ]
done
