#!/bin/sh
# Tries `cargo xtask reproduce --emit snakemake` on this machine: runs `smoke` in four parts, kills one of them at
# its first record, lets Snakemake run it again, and holds the merged records against those of a plain run.
#
# Needs snakemake on the path.   sh xtask/schedulers/snakemake.sh [FOLDER]
set -eu

cd "$(dirname "$0")/../.."
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cargo build --quiet --package xtask
xtask=${CARGO_TARGET_DIR:-target}/debug/xtask
request="smoke --repetitions 4"
unset CDIMC_DATASETS

facts() {
    grep -o '"key":"[0-9a-f]*"\|"scores":\(null\|{[^}]*}\)' "$1" | paste - - | sort
}

out=$folder/results
mkdir -p "$out"
$xtask reproduce $request --emit snakemake --shards 4 --out "$out"
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

$xtask reproduce $request --out "$folder/plain" > /dev/null
$xtask merge smoke --out "$folder/plain" --into "$folder/plain.jsonl"
facts "$folder/merged.jsonl" > "$folder/merged.facts"
facts "$folder/plain.jsonl" > "$folder/plain.facts"
cmp "$folder/merged.facts" "$folder/plain.facts"
echo "Snakemake: $(wc -l < "$folder/merged.facts") records, those of the plain run"
