#!/usr/bin/env bash
# source_test.sh - the recorder's sources and manners inside a real 6.12 kernel.
#
# One boot: perf and ftrace record the same workload at once and must agree kind by kind; what a killed recorder left is
# recovered; the flight recorder writes when told to; the block source is held against pswpout and pswpin. The guest's half
# is guest-source. Prints cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${BUILD:-build}
out=$build/vm/source
rm -rf "$out"
mkdir -p "$out/share"
failed=0

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

# info TRACE FIGURE: of info's JSON; 0 if it is not there.
info()
{
	[[ -e $out/$1.json ]] || "$build/zreel" info --json "$out/share/$1.zr" >"$out/$1.json"
	sqlite3 :memory: "SELECT ifnull(json_extract(readfile('$out/$1.json'), '\$.$2'), 0)"
}

# counted PREFIX COUNTER: the difference of the guest's counters.
counted()
{
	local before after

	before=$(sed -n "s/^$2=//p" "$out/share/$1before")
	after=$(sed -n "s/^$2=//p" "$out/share/$1after")
	echo $((after - before))
}

# near A B: not nothing, and within 0.5%.
near()
{
	local difference=$(($1 > $2 ? $1 - $2 : $2 - $1))

	[[ $1 -gt 0 && $2 -gt 0 && $((difference * 200)) -le $2 ]]
}

# Both recordings are of the same moments but for the inner one's start and end.
both_have()
{
	local perf ftrace

	perf=$(info perf "$1")
	ftrace=$(info ftrace "$1")
	echo "  $1: perf $perf, ftrace $ftrace"
	near "$perf" "$ftrace"
}

is_counter()
{
	echo "  $1 $2: recorded $3, kernel's $4 $5"
	near "$3" "$5"
}

hides()
{
	! grep -aqF "$1" "$out/share/$2.zr"
}

"${CC:-cc}" -std=gnu2x -O2 -static -o "$out/touch" recorder/vm/touch.c
status=0
recorder/vm/run --retry -k 6.12 --share "$out/share" --timeout 420 --add "$build/zreel" --add "$build/zreel-record" \
	--add "$(command -v setpriv):/bin/set-privileges" --add "$out/touch:/bin/random-touch" --add recorder/vm/guest-source \
	-- guest-source 2>"$out/err" || status=$?
claim guest_ends_well test $status -eq 0
if [[ ! -e $out/share/block.zr ]]; then
	sed 's/^/  /' "$out/err"
	exit 1
fi

for figure in outcomes.stored outcomes.rejected outcomes.zero outcomes.in_zswap outcomes.in_disk outcomes.written_back \
	events.FREE events.RECLAIM events.IO; do
	claim "perf_and_ftrace_agree_on_${figure#*.}" both_have "$figure"
done
claim perf_loses_nothing test "$(info perf lost_events)" -eq 0
claim perf_stores_are_zswpout is_counter perf stored "$(info perf outcomes.stored)" zswpout "$(counted '' zswpout)"
claim perf_loads_are_zswpin is_counter perf in_zswap "$(info perf outcomes.in_zswap)" zswpin "$(counted '' zswpin)"
claim few_capabilities_record_stores test "$(info few outcomes.stored)" -gt 0
claim flight_recorder_has_events test "$(info flight events.OUT)" -gt 0
claim anonymous_trace_hides_the_cgroup hides job lone
claim block_writes_are_pswpout is_counter block out "$(info block events.OUT)" pswpout "$(counted block. pswpout)"
claim block_reads_are_pswpin is_counter block in "$(info block events.IN)" pswpin "$(counted block. pswpin)"
claim block_knows_that_zswap_is_off test "$(sqlite3 "file:$out/share/block.zr?mode=ro" \
	"SELECT value FROM env WHERE key = 'block.complete'")" = Y
exit $failed
