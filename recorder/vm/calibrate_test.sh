#!/usr/bin/env bash
# calibrate_test.sh - a drive measured in the guest, and a replay on it beside a neighbour: the kernel takes the parameters that
# come out, iocost shares the drive out by weight, and everything is as it was before, however it ends.
#
# Prints cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."
. recorder/vm/claims

build=${BUILD:-build}
work=$(mktemp -d "${TMPDIR:-/tmp}/zreel-calibrate.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$build/zreel" cut traces/touch.zr -o "$work/touch.zr" --from 24s --to 28s
"$build/zreel" calibrate /var/tmp -o "$work/slow.zr" --duration 2s --size 4M >/dev/null
sqlite3 "$work/slow.zr" "UPDATE metric SET value = 1000 WHERE name LIKE '%iops'"
status=0
recorder/vm/run --retry -k 6.12 -m 3072 --disk 1400M --share "$work" --timeout 1200 --add "$build/zreel" \
	--add recorder/vm/claims:/lib/claims --add recorder/vm/guest-calibrate -- guest-calibrate >"$work/log" 2>&1 || status=$?
cat "$work/log"
[[ $status -eq 0 ]] || failed=1

# The host's own arithmetic: what the table's figures make of the parameters.
highest()
{
	sqlite3 :memory: "SELECT cast(max(json_extract(value, '\$.iops') * $2) AS INTEGER)
		FROM json_each(readfile('$work/drive.json'), '\$.points') WHERE $1"
}

printed()
{
	sqlite3 :memory: "SELECT json_extract(readfile('$work/drive.json'), '\$.io_cost_model')" | tr ' ' '\n' |
		sed -n "s/^$1=//p"
}

where()
{
	echo "json_extract(value, '\$.direction') = '$1' AND json_extract(value, '\$.pattern') = '$2'"
}

if [[ -s $work/drive.json ]]; then
	page="AND json_extract(value, '\$.bytes') = 4096"
	size="json_extract(value, '\$.bytes')"
	claim rbps_is_the_highest_sequential_rate test "$(printed rbps)" = "$(highest "$(where read sequential)" "$size")"
	claim wrandiops_is_the_highest_random_rate test "$(printed wrandiops)" = "$(highest "$(where write random) $page" 1)"
	claim wseqiops_is_the_highest_sequential_rate_of_pages test \
		"$(printed wseqiops)" = "$(highest "$(where write sequential) $page" 1)"
fi

# Whoever weighs more gets more of a drive that is not enough for both.
# In the part of the drive's time that it was charged, of what both were.
share()
{
	sqlite3 :memory: "SELECT 1.0 * $(figure "$1" neighbour_iocost_usage_us) /
		($(figure "$1" neighbour_iocost_usage_us) + $(figure "$1" iocost_usage_us))"
}

figure()
{
	json "$work/$1.json" "runs[0].metrics.$2.mean"
}

more()
{
	test "$(sqlite3 :memory: "SELECT $1 > $2")" = 1
}

if [[ -s $work/heavy.json && -s $work/light.json ]]; then
	for run in heavy light; do
		echo "  $run: neighbour $(figure $run neighbour_iops) requests/s, $(share $run) of what iocost charged both;" \
			"replay $(figure $run makespan_us) us"
	done
	claim iocost_charges_the_neighbour more "$(figure heavy neighbour_iocost_usage_us)" 0
	claim the_heavier_neighbour_gets_more more "$(share heavy)" "$(share light)"
	claim the_lighter_replay_takes_longer more "$(figure heavy makespan_us)" "$(figure light makespan_us)"
fi
exit $failed
