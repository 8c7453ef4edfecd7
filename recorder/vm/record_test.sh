#!/usr/bin/env bash
# record_test.sh [KERNEL]... - our recorder inside real kernels: its counts must be the kernel's own, and everybody's.
#
# On each kernel (6.1, 6.12 and 7.3) one boot of guest-mixed: large folios, zero-filled and incompressible pages, a full
# pool, two cgroups, a partition and a swap file in pieces, a type number that is used again, a ring that overruns; recorded
# by our ftrace and perf sources, by plain trace-cmd and by plain perf at once. On 6.12 also both workloads at CI size with
# record-trace. `zreel info` is held against the differences of the guest's counters around the recording, what was written
# against the requests that were seen, slot by slot, and the recordings of the same run against each other, those of the
# other tools after `zreel import`. Prints cmocka's lines, so that .ci/run-tests counts the claims. The recordings stay in
# $BUILD/vm.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."
. recorder/vm/claims

build=${BUILD:-build}
out=$build/vm
mkdir -p "$out"

# ---- guest-mixed on every kernel ------------------------------------------------------------------------------------

# The pages that swap-outs and writebacks sent to a disk are those in the requests, slot by slot; and no slot was freed
# that nobody had taken. Prints what does not fit.
slots_fit()
{
	"$build/zreel" dump --format csv "$1.zr" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{
			kind = $at["kind"]; what = $at["outcome"]; area = $at["area"]; slot = $at["slot"]; n = 1
			if (kind == "OUT" && what !~ /^stored/)
				n = 2 ^ $at["order"]
			if (kind == "FREE" && $at["len"] > 0)
				n = $at["len"]
			if (kind == "IO")
				n = $at["len"] / 8
			for (i = 0; i < n; i++) {
				name = area ":" slot + i
				if (kind == "OUT")
					taken[name] = 1
				if (kind == "FREE" && !(name in taken))
					free++
				if (kind == "FREE")
					delete taken[name]
				if (kind == "OUT" && what ~ /^rejected/ || kind == "WB" && what ~ /^written/)
					written[name]++
				if (kind == "IO" && what == "write issue")
					seen[name]++
			}
		}
		END {
			for (name in written) { pages += written[name]; wrong += written[name] != seen[name] }
			for (name in seen) wrong += !(name in written)
			for (name in taken) left++
			printf "  %d pages written, %d slots wrong, %d freed without being taken, %d left over\n",
				pages, wrong, free, left
			exit !(pages > 0 && wrong <= pages / 200 && free <= pages / 200 && left <= 256)
		}'
}

# Swap areas of the trace as "id:path ...".
areas_of()
{
	sqlite3 :memory: "SELECT group_concat(json_extract(value, '\$.id') || ':' || json_extract(value, '\$.path'), ' ')
		FROM json_each(readfile('$1.json'), '\$.hosts[0].swap_areas')"
}

# How many events of a kind and area there are whose outcome matches.
events_of()
{
	"$build/zreel" dump --format csv "$1.zr" | awk -F, -v kind="$2" -v area="$3" -v outcome="$4" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["kind"] == kind && (area == "" || $at["area"] == area) && $at["outcome"] ~ outcome { n++ }
		END { print n + 0 }'
}

some()
{
	[[ $("$@") -gt 0 ]]
}

# What the ring overran, by the kernel's word, and what could not be decided for want of that: a gap of one each.
overrun()
{
	sqlite3 :memory: "SELECT sum(value) FROM json_each(readfile('$1.json'), '\$.hosts[0].environment')
		WHERE key LIKE 'ring.cpu%.overrun' OR key LIKE 'ring.cpu%.dropped' OR key = 'fold.undecided'"
}

# The partition's place, as `zreel import` wants it. An import knows nothing of a file's pieces.
partition_of()
{
	sqlite3 "file:$1.zr?mode=ro" "SELECT printf('0:%d:%d:%s', start_sector, slots * 8,
		'$(sed -n 's/^disk=//p' "${1%/*}/setup")') FROM area WHERE type = 0 LIMIT 1"
}

# What was recorded of the partition's requests.
same_requests()
{
	local a b

	a=$(events_of "$1" IO 1 .)
	b=$(events_of "$2" IO 1 .)
	echo "  ${1##*/} $a requests of the partition, ${2##*/} $b"
	near "$a" "$b"
}

# A recording that watches the two cgroups has what they did in one of everything, and nothing else.
is_what_the_cgroups_did()
{
	local query="SELECT kind || ' ' || cgroup, ifnull(outcome, '-'), count(*) FROM events
		WHERE kind IN ('OUT', 'IN', 'FREE', 'WB', 'SHRINK') AND cgroup"

	awk '
		FNR < 3 { next }
		FNR == NR { watched[$1, $2, $3] = $4; next }
		{
			n = watched[$1, $2, $3]
			delete watched[$1, $2, $3]
			printf "  %s %s %s: %d of %d\n", $1, $2, $3, n, $4
			difference = n > $4 ? n - $4 : $4 - n
			bad += difference * 200 > $4
			all++
		}
		END { for (kind in watched) bad++; exit !(all > 5 && !bad) }
	' <("$build/zreel" sql "$1.zr" "$query IS NOT NULL GROUP BY 1, 2") \
		<("$build/zreel" sql "$2.zr" "$query IN ('/job', '/other') GROUP BY 1, 2")
}

# import NAME INPUT [OPTION]...: makes $here/NAME.zr of it.
import()
{
	local name=$1 input=$2

	shift 2
	"$build/zreel" import --swap-area "$(partition_of "$here/mixed")" -o "$here/$name.zr" --json "$@" "$input" \
		>"$here/$name.imported"
}

text_of_trace_cmd()
{
	trace-cmd report -t -i "$here/trace.dat" 2>/dev/null | import trace-cmd-text -
}

text_of_perf()
{
	perf script --ns -i "$here/perf.data" 2>/dev/null | import perf-text -
}

# imports NAME COMMAND...: what another tool recorded of the same run becomes a trace of the same counts.
imports()
{
	local name=$1

	shift
	claim "${name//-/_}_of_${k}_imports" "$@"
	[[ -e $here/$name.zr ]] || return 0
	claim "${name//-/_}_of_${k}_has_our_counts" agree "$here/$name" "$here/perf"
	claim "${name//-/_}_of_${k}_has_our_requests" same_requests "$here/$name" "$here/perf"
}

mixed()
{
	local kernel=$1 here=$out/$1 k=${1//./_} mixed=$out/$1/mixed tiny=$out/$1/tiny status=0 tool tools=()

	rm -rf "$here"
	mkdir -p "$here"
	for tool in trace-cmd perf; do
		! command -v $tool >/dev/null || tools+=(--add "$(command -v $tool):/bin/$tool")
	done
	# The emulator now and then kills a program of the guest by a stray trap (see README.md). When that hits the
	# preparations, which nothing is claimed of, they are made again, in view.
	for _ in 1 2 3; do
		status=0
		recorder/vm/run --retry -k "$kernel" -m 1536 --disk 64M --disk2 256M --share "$here" --timeout 1500 \
			--add "$build/zreel:/bin/zreel" --add recorder/vm/guest-mixed --add "$work/touch:/bin/random-touch" \
			"${tools[@]}" -- guest-mixed zreel >"$here/err" 2>&1 || status=$?
		if [[ $status -eq 0 ]] || ! grep '^guest-mixed: failed: ' "$here/err"; then
			break
		fi
	done
	claim "mixed_records_on_$k" test "$status" -eq 0
	if [[ $status -ne 0 ]]; then
		sed 's/^/  /' "$here/err" "$here/output" 2>/dev/null || true
		return
	fi

	claim "mixed_${k}_loses_nothing" test "$(info "$mixed" lost_events)/$(info "$mixed" gaps)" = 0/0
	claim "mixed_${k}_stores_are_zswpout" is_counter "$mixed" outcomes.stored "$mixed" zswpout
	claim "mixed_${k}_loads_are_zswpin" is_counter "$mixed" outcomes.in_zswap "$mixed" zswpin
	claim "mixed_${k}_disk_reads_are_pswpin" is_counter "$mixed" outcomes.in_disk "$mixed" pswpin
	claim "mixed_${k}_writebacks_are_the_kernels" \
		is_counter "$mixed" outcomes.written_back "$mixed" zswap.written_back_pages
	claim "mixed_${k}_writes_are_pswpout" is_counter "$mixed" outcomes.rejected outcomes.written_back "$mixed" pswpout
	[[ $kernel == 6.1 ]] ||
		claim "mixed_${k}_zeros_are_swpout_zero" is_counter "$mixed" outcomes.zero "$mixed" swpout_zero
	claim "mixed_${k}_requests_are_of_the_slots_written" slots_fit "$mixed"
	claim "mixed_${k}_type_number_used_again_is_another_area" \
		test "$(areas_of "$mixed")" = "1:/dev/nvme0n1p1 2:/tmp/files/first 3:/tmp/files/second"
	for area in 1 2 3; do
		claim "mixed_${k}_area_${area}_was_used" some events_of "$mixed" OUT $area .
	done
	claim "mixed_${k}_pool_was_full" some events_of "$mixed" OUT '' 'rejected limit'
	claim "mixed_${k}_file_requests_were_seen" some events_of "$mixed" IO 2 'write issue'
	claim "mixed_${k}_both_cgroups_were_seen" test "$(sqlite3 "$mixed.zr" \
		"SELECT count(*) FROM memcg WHERE path IN ('/job', '/other')")" = 2
	claim "tiny_${k}_loses_and_says_so" test "$(info "$tiny" lost_events)" -gt 0
	claim "tiny_${k}_counts_what_the_kernel_lost" test "$(info "$tiny" lost_events)" = "$(overrun "$tiny")"

	claim "perf_${k}_loses_nothing" test "$(info "$here/perf" lost_events)/$(info "$here/perf" gaps)" = 0/0
	claim "perf_${k}_agrees_with_ftrace" agree "$here/perf" "$mixed" outcomes.stored outcomes.rejected outcomes.zero \
		outcomes.in_zswap outcomes.in_disk outcomes.in_zero outcomes.written_back events.SCAN events.RECLAIM events.WORKER
	claim "perf_${k}_agrees_with_ftrace_on_what_is_watched" is_what_the_cgroups_did "$mixed" "$here/perf"
	claim "perf_${k}_sees_the_same_requests" agree "$here/perf" "$mixed" events.IO
	claim "perf_${k}_follows_the_areas" test "$(areas_of "$here/perf")" = "$(areas_of "$mixed")"
	if [[ -e $here/trace.dat ]]; then
		imports trace-cmd import trace-cmd "$here/trace.dat"
		imports trace-cmd-text text_of_trace_cmd
	else
		skip "trace_cmd_of_${k}_has_our_counts" "trace-cmd is not installed; on Debian: apt install trace-cmd"
	fi
	if [[ -e $here/perf.data ]]; then
		imports perf-data import perf-data "$here/perf.data"
		imports perf-text text_of_perf
	else
		skip "perf_data_of_${k}_has_our_counts" "perf is not installed; on Debian: apt install linux-perf"
	fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -std=gnu2x -O2 -static -o "$work/touch" recorder/vm/touch.c
kernels=("$@")
[[ $# -gt 0 ]] || kernels=(6.1 6.12 7.3)
for kernel in "${kernels[@]}"; do
	mixed "$kernel"
done
[[ $# -eq 0 ]] || exit $failed

# ---- the shipped workloads, small, on 6.12 ---------------------------------------------------------------------------

for workload in touch compile; do
	trace=$out/$workload
	rm -f "$trace".*
	status=0
	recorder/vm/record-trace -z "$build/zreel" "$workload" ci "$trace.zr" >"$trace.counted" 2>"$trace.err" || status=$?
	claim "${workload}_records_on_6_12" test "$status" -eq 0
	if [[ $status -ne 0 ]]; then
		sed 's/^/  /' "$trace.err"
		continue
	fi
	claim "${workload}_loses_nothing" test "$(info "$trace" lost_events)/$(info "$trace" gaps)" = 0/0
	claim "${workload}_stores_are_zswpout" is_counter "$trace" outcomes.stored "$trace" zswpout
	claim "${workload}_loads_are_zswpin" is_counter "$trace" outcomes.in_zswap "$trace" zswpin
	claim "${workload}_writebacks_are_zswpwb" is_counter "$trace" outcomes.written_back "$trace" zswpwb
	claim "${workload}_writes_are_pswpout" is_counter "$trace" outcomes.rejected outcomes.written_back "$trace" pswpout
	claim "${workload}_scans_were_seen" test "$(info "$trace" events.SCAN)" -gt 0
	claim "${workload}_reclaim_was_seen" test "$(info "$trace" events.RECLAIM)" -gt 0
	claim "${workload}_requests_were_seen" test "$(info "$trace" events.IO)" -gt 0
done
exit $failed
