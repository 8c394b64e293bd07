#!/usr/bin/env bash
# Runs the Go benchmarks of another revision and of this folder, in turns, and lets benchstat compare them.
# Usage: bench/compare.sh REVISION PACKAGES PATTERN COUNT TIME
#
# The turns matter: on a small machine the same code takes another time ten minutes later.
set -euo pipefail
cd "$(dirname "$0")/.."
base=$1 packages=$2 pattern=$3 count=$4 time=$5
go=${GO:-go}
here=$PWD
results=$here/.cache/bench-compare
mkdir -p "$results"
there=$(mktemp -d)
trap 'git worktree remove --force "$there/base" 2>/dev/null || true; rm -rf "$there"' EXIT
git worktree add --quiet --detach "$there/base" "$base"

# Test binaries are built once for each side; a package without benchmarks of that name just says so.
build() { # FOLDER OUT
  mkdir -p "$2"
  (cd "$1" && for package in $($go list "$packages" | grep -v -e /integration -e /bench); do
    folder=$($go list -f '{{.Dir}}' "$package")
    compgen -G "$folder/*_test.go" >/dev/null || continue
    grep -q '^func Benchmark' "$folder"/*_test.go || continue
    $go test -c -o "$2/$(echo "${package#*/*/*/}" | tr / _).test" "$package"
    echo "$folder" >"$2/$(echo "${package#*/*/*/}" | tr / _).dir"
    echo "$package" >"$2/$(echo "${package#*/*/*/}" | tr / _).name"
  done)
}
build "$there/base" "$there/old"
build "$here" "$there/new"

run() { # OUT FILE
  for binary in "$1"/*.test; do
    [ -e "$binary" ] || continue
    echo "pkg: $(cat "${binary%.test}.name")" >>"$2"
    (cd "$(cat "${binary%.test}.dir")" && "$binary" -test.run '^$' -test.bench "$pattern" -test.benchtime "$time" -test.benchmem) |
      grep '^Benchmark' >>"$2" || true
  done
}
: >"$results/old.txt"
: >"$results/new.txt"
for ((i = 1; i <= count; i++)); do
  echo "turn $i of $count" >&2
  run "$there/old" "$results/old.txt"
  run "$there/new" "$results/new.txt"
done
.tools/benchstat "$base=$results/old.txt" "here=$results/new.txt"
