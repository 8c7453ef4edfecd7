#!/usr/bin/env bash
# record_test.sh - our recorder inside a real 6.12 kernel: its counts must be the kernel's own.
#
# Records both workloads at CI size with record-trace and holds `zreel info` against the differences of the guest's
# /proc/vmstat around the recording. Prints cmocka's lines, so that .ci/run-tests counts the claims. The recordings stay
# in $BUILD/vm; replay_test.sh takes its trace from there.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${BUILD:-build}
out=$build/vm
mkdir -p "$out"
failed=0

# claim NAME COMMAND...: one line of the report.
claim()
{
	local name=$1

	shift
	if "$@"; then
		echo "[       OK ] $name"
	else
		echo "[  FAILED  ] $name"
		failed=1
	fi
}

# One figure of info's JSON.
info()
{
	sqlite3 :memory: "SELECT json_extract(readfile('$out/$1.json'), '\$.$2')"
}

# One difference of the guest's counters.
counted()
{
	sed -n "s/^$2=//p" "$out/$1.counted" | grep . || echo 0
}

# agree WORKLOAD FIGURE... COUNTER: the sum of the figures is within 0.5% of the counter, and both are not nothing.
agree()
{
	local workload=$1 counter=${*: -1} sum=0 figure kernel difference

	shift
	for figure in "${@:1:$#-1}"; do
		sum=$((sum + $(info "$workload" "$figure")))
	done
	kernel=$(counted "$workload" "$counter")
	difference=$((sum > kernel ? sum - kernel : kernel - sum))
	echo "  $workload: recorded $sum, kernel's $counter $kernel"
	[[ $kernel -gt 0 && $((difference * 200)) -le $kernel ]]
}

for workload in touch compile; do
	rm -f "$out/$workload".*
	status=0
	recorder/vm/record-trace -z "$build/zreel" "$workload" ci "$out/$workload.zr" >"$out/$workload.counted" 2>"$out/err" ||
		status=$?
	claim "${workload}_records_on_6_12" test "$status" -eq 0
	if [[ $status -ne 0 ]]; then
		sed 's/^/  /' "$out/err"
		continue
	fi
	"$build/zreel" info --json "$out/$workload.zr" >"$out/$workload.json"
	claim "${workload}_loses_nothing" test "$(info "$workload" lost_events)/$(info "$workload" gaps)" = 0/0
	claim "${workload}_stores_are_zswpout" agree "$workload" outcomes.stored zswpout
	claim "${workload}_loads_are_zswpin" agree "$workload" outcomes.in_zswap zswpin
	claim "${workload}_writebacks_are_zswpwb" agree "$workload" outcomes.written_back zswpwb
	claim "${workload}_writes_are_pswpout" agree "$workload" outcomes.rejected outcomes.written_back pswpout
	claim "${workload}_scans_were_seen" test "$(info "$workload" events.SCAN)" -gt 0
	claim "${workload}_reclaim_was_seen" test "$(info "$workload" events.RECLAIM)" -gt 0
	claim "${workload}_requests_were_seen" test "$(info "$workload" events.IO)" -gt 0
done
exit $failed
