#!/usr/bin/env bash
# shipped_test.sh - the shipped recordings are what traces/README.md says: unaltered, small, large enough, sound.
# Prints cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/.."
. recorder/vm/claims

zreel=${BUILD:-build}/zreel

checksums()
{
	(cd traces && sha256sum --quiet -c SHA256SUMS)
}

# count TRACE FIELD: a figure of info's JSON.
count()
{
	"$zreel" info --json "traces/$1.zr" | sed -nE "s/^ *\"$2\": ([0-9]+),?\$/\\1/p" | head -n 1
}

under_six_megabytes()
{
	[[ $(stat -c %s "traces/$1.zr") -lt 6000000 ]]
}

claim shipped_traces_are_unaltered checksums
for trace in touch compile; do
	claim "${trace}_is_under_6_MB" under_six_megabytes "$trace"
	claim "${trace}_has_200000_swap_outs_and_refaults" \
		test $(($(count "$trace" OUT) + $(count "$trace" IN))) -ge 200000
	claim "${trace}_lost_nothing" test "$(count "$trace" lost_events)" = 0
	claim "${trace}_is_sound" "$zreel" verify "traces/$trace.zr"
done
exit $failed
