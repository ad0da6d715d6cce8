#!/bin/sh
# Tries `cargo xtask reproduce --emit snakemake` on this machine: runs `smoke` in four parts, kills one of them at
# its first record, lets Snakemake run it again, and holds the merged records against those of a plain run.
#
# Needs snakemake on the path.   sh crates/cdimc-experiments/schedulers/snakemake.sh [FOLDER]
set -eu

cd "$(dirname "$0")/../../.."
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# XTASK names a program that is built already.
if test -z "${XTASK:-}"; then
    cargo build --quiet --package xtask
    XTASK=$(pwd)/target/debug/xtask
    test -z "${CARGO_TARGET_DIR:-}" || XTASK=$CARGO_TARGET_DIR/debug/xtask
fi
request="smoke --repetitions 4"
unset CDIMC_DATASETS

facts() {
    grep -o '"key":"[0-9a-f]*"\|"scores":\(null\|{[^}]*}\)' "$1" | paste - - | sort
}

out=$folder/results
mkdir -p "$out"
"$XTASK" reproduce $request --emit snakemake --shards 4 --out "$out"
snakemake --snakefile "$out/smoke/Snakefile" --directory "$folder" --cores "$(nproc)" \
    --config into="$folder/merged.jsonl" > "$folder/snakemake.log" 2>&1 &
run=$!

part=$out/smoke/records-2-of-4.jsonl
for _ in $(seq 600); do
    test -s "$part" && break
    sleep 0.2
done
victim=$(pgrep -o -f "reproduce smoke .*--shard 2/4 .*--out $out")
kill -KILL "$victim"
echo "part 2 killed with $(wc -l < "$part") records"
wait $run || { cat "$folder/snakemake.log"; exit 1; }

"$XTASK" reproduce $request --out "$folder/plain" > "$folder/plain.log" 2>&1
"$XTASK" merge smoke --out "$folder/plain" --into "$folder/plain.jsonl"
facts "$folder/merged.jsonl" > "$folder/merged.facts"
facts "$folder/plain.jsonl" > "$folder/plain.facts"
cmp "$folder/merged.facts" "$folder/plain.facts"
echo "Snakemake: $(wc -l < "$folder/merged.facts") records, those of the plain run"
