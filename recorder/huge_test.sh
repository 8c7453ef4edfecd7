#!/usr/bin/env bash
# huge_test.sh - an import of any length takes a fixed memory: 50 million events through a pipe, with 512 MiB of address
# space. Takes minutes; `make check` has the same claim for fewer lines (long_texts_from_a_pipe_take_flat_memory).
#
#	huge_test.sh [EVENTS]
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail

zreel=$(realpath "${BUILD:-build}/zreel")
claims=$(realpath "$(dirname "$0")/../ui/e2e/claims")
events=${1:-50000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck source=../ui/e2e/claims
. "$claims"

# Stores and frees of slots in turn, by 64 tasks on 8 CPUs, 3 us apart.
lines() {
	awk -v n="$events" 'BEGIN {
		for (i = 0; i < n / 2; i++) {
			t = sprintf("[%03d] ..... %d.%06d:", i % 8, 1 + i * 3 / 1000000, i * 3 % 1000000)
			printf " hog-%d %s free: (zswap_invalidate+0x4/0x50) swp=0x%x\n", 100 + i % 64, t, i * 7 % 1000000
			printf " hog-%d %s free: (zswap_invalidate+0x4/0x50) swp=0x%x\n", 100 + i % 64, t, i * 11 % 1000000
		}
	}'
}

imports_all_within_the_limit() {
	lines | (ulimit -v 524288 && exec "$zreel" import - -o t.zr) &&
		[ "$("$zreel" info --json t.zr | sed -n 's/.*"FREE": \([0-9]*\).*/\1/p' | head -n 1)" -eq "$events" ]
}

claim events_without_end_pass_through_512_mib imports_all_within_the_limit
exit $bad
