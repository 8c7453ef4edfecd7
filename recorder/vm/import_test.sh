#!/usr/bin/env bash
# import_test.sh - what plain trace-cmd records with our printed probes imports to the same counts as our own recording.
#
# One boot of 6.12: trace-cmd and zreel record the same workload at once (guest-import). trace.dat and the text that
# `trace-cmd report` makes of it are imported here and held against the recording and the kernel's counters. Prints
# cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${BUILD:-build}
out=$build/vm/import
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

if ! trace_cmd=$(command -v trace-cmd); then
	echo "[  SKIPPED ] trace_dat_has_our_counts: skipped, trace-cmd is not installed; on Debian: apt install trace-cmd"
	exit 0
fi

# info TRACE FIGURE: of info's JSON; 0 if it is not there.
info()
{
	[[ -e $out/$1.json ]] || "$build/zreel" info --json "$out/$1.zr" >"$out/$1.json"
	sqlite3 :memory: "SELECT ifnull(json_extract(readfile('$out/$1.json'), '\$.$2'), 0)"
}

# The difference of one of the guest's counters.
counted()
{
	echo $(($(sed -n "s/^$1=//p" "$out/share/after") - $(sed -n "s/^$1=//p" "$out/share/before")))
}

# near A B: not nothing, and within 0.5%.
near()
{
	local difference=$(($1 > $2 ? $1 - $2 : $2 - $1))

	[[ $1 -gt 0 && $2 -gt 0 && $((difference * 200)) -le $2 ]]
}

# agree FIGURE A B: two traces have it both, or neither.
agree()
{
	local a b

	a=$(info "$2" "$1")
	b=$(info "$3" "$1")
	echo "  $1: $2 $a, $3 $b"
	[[ $a -eq $b ]] || near "$a" "$b"
}

same()
{
	[[ $(info "$2" "$1") -eq $(info "$3" "$1") ]]
}

is_counter()
{
	local a

	a=$(info "$1" "$2")
	echo "  $1 $2: $a, kernel's $3 $(counted "$3")"
	near "$a" "$(counted "$3")"
}

"${CC:-cc}" -std=gnu2x -O2 -static -o "$out/touch" recorder/vm/touch.c
status=0
recorder/vm/run --retry -k 6.12 --share "$out/share" --timeout 200 --add "$build/zreel" --add "$trace_cmd:/bin/trace-cmd" \
	--add "$out/touch:/bin/random-touch" --add recorder/vm/guest-import -- guest-import 2>"$out/err" || status=$?
claim guest_ends_well test $status -eq 0
if [[ ! -e $out/share/trace.dat || ! -e $out/share/ours.zr ]]; then
	sed 's/^/  /' "$out/err"
	exit 1
fi

cp "$out/share/ours.zr" "$out/ours.zr"
start=$(sqlite3 "$out/ours.zr" "SELECT start_sector FROM area LIMIT 1")
sectors=$(sqlite3 "$out/ours.zr" "SELECT slots * 8 FROM area LIMIT 1")
area=0:$start:$sectors
"$build/zreel" import --swap-area "$area" "$out/share/trace.dat" -o "$out/dat.zr" --json >"$out/import.json" || failed=1
"$trace_cmd" report -t -i "$out/share/trace.dat" 2>/dev/null |
	"$build/zreel" import --swap-area "$area" - -o "$out/text.zr" >"$out/import.txt" || failed=1

for figure in outcomes.stored outcomes.rejected outcomes.in_zswap outcomes.in_disk outcomes.in_zero outcomes.written_back \
	events.FREE events.IO; do
	claim "trace_dat_has_our_${figure#*.}" agree "$figure" dat ours
	claim "text_has_the_same_${figure#*.}_as_trace_dat" same "$figure" text dat
done
claim trace_dat_lost_nothing test "$(info dat lost_events)" -eq 0
claim trace_dat_stores_are_zswpout is_counter dat outcomes.stored zswpout
claim trace_dat_loads_are_zswpin is_counter dat outcomes.in_zswap zswpin
exit $failed
