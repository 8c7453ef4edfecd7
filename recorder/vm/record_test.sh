#!/usr/bin/env bash
# record_test.sh [KERNEL]... - our recorder inside real kernels: its counts must be the kernel's own.
#
# On each kernel (6.1, 6.12 and 7.3) one boot of guest-mixed: large folios, zero-filled and incompressible pages, a full
# pool, two cgroups, a partition and a swap file in pieces, a type number that is used again, a ring that overruns. On 6.12
# also both workloads at CI size with record-trace. `zreel info` is held against the differences of the guest's counters
# around the recording, and what was written against the requests that were seen, slot by slot. Prints cmocka's lines, so
# that .ci/run-tests counts the claims. The recordings stay in $BUILD/vm.
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

# ---- guest-mixed on every kernel ------------------------------------------------------------------------------------

# The pages that swap-outs and writebacks sent to a disk are those in the requests, slot by slot; and no slot was freed
# that nobody had taken. Prints what does not fit.
slots_fit()
{
	"$build/zreel" dump --format csv "$out/$1.zr" | awk -F, '
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
		FROM json_each(readfile('$out/$1.json'), '\$.hosts[0].swap_areas')"
}

# How many events of a kind and area there are whose outcome matches.
events_of()
{
	"$build/zreel" dump --format csv "$out/$1.zr" | awk -F, -v kind="$2" -v area="$3" -v outcome="$4" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["kind"] == kind && (area == "" || $at["area"] == area) && $at["outcome"] ~ outcome { n++ }
		END { print n + 0 }'
}

some()
{
	[[ $("$@") -gt 0 ]]
}

# What the ring overran, by the kernel's word.
overrun()
{
	sqlite3 :memory: "SELECT sum(value) FROM json_each(readfile('$out/$1.json'), '\$.hosts[0].environment')
		WHERE key LIKE 'ring.cpu%.overrun' OR key LIKE 'ring.cpu%.dropped'"
}

mixed()
{
	local kernel=$1 name=mixed-$1 tiny=tiny-$1 k=${1//./_} share=$work/$1 status=0

	mkdir -p "$share"
	# The emulator now and then kills a program of the guest by a stray trap (see README.md). When that hits the
	# preparations, which nothing is claimed of, they are made again, in view.
	for _ in 1 2 3; do
		status=0
		recorder/vm/run --retry -k "$kernel" -m 1024 --disk 64M --disk2 256M --share "$share" --timeout 400 \
			--add "$build/zreel:/bin/zreel" --add recorder/vm/guest-mixed --add "$work/touch:/bin/random-touch" \
			-- guest-mixed zreel >"$out/err" 2>&1 || status=$?
		if [[ $status -eq 0 ]] || ! grep '^guest-mixed: failed: ' "$out/err"; then
			break
		fi
	done
	claim "mixed_records_on_$k" test "$status" -eq 0
	if [[ $status -ne 0 ]]; then
		sed 's/^/  /' "$out/err" "$share/output" 2>/dev/null || true
		return
	fi
	cp "$share/mixed.zr" "$out/$name.zr"
	cp "$share/tiny.zr" "$out/$tiny.zr"
	awk -F= 'NR == FNR { before[$1] = $2; next } { print $1 "=" $2 - before[$1] }' \
		"$share/mixed.before" "$share/mixed.after" >"$out/$name.counted"
	"$build/zreel" info --json "$out/$name.zr" >"$out/$name.json"
	"$build/zreel" info --json "$out/$tiny.zr" >"$out/$tiny.json"

	claim "mixed_${k}_loses_nothing" test "$(info "$name" lost_events)/$(info "$name" gaps)" = 0/0
	claim "mixed_${k}_stores_are_zswpout" agree "$name" outcomes.stored zswpout
	claim "mixed_${k}_loads_are_zswpin" agree "$name" outcomes.in_zswap zswpin
	claim "mixed_${k}_disk_reads_are_pswpin" agree "$name" outcomes.in_disk pswpin
	claim "mixed_${k}_writebacks_are_the_kernels" agree "$name" outcomes.written_back zswap.written_back_pages
	claim "mixed_${k}_writes_are_pswpout" agree "$name" outcomes.rejected outcomes.written_back pswpout
	[[ $kernel == 6.1 ]] || claim "mixed_${k}_zeros_are_swpout_zero" agree "$name" outcomes.zero swpout_zero
	claim "mixed_${k}_requests_are_of_the_slots_written" slots_fit "$name"
	claim "mixed_${k}_type_number_used_again_is_another_area" \
		test "$(areas_of "$name")" = "1:/dev/nvme0n1p1 2:/tmp/files/first 3:/tmp/files/second"
	for area in 1 2 3; do
		claim "mixed_${k}_area_${area}_was_used" some events_of "$name" OUT $area .
	done
	claim "mixed_${k}_pool_was_full" some events_of "$name" OUT '' 'rejected limit'
	claim "mixed_${k}_file_requests_were_seen" some events_of "$name" IO 2 'write issue'
	claim "mixed_${k}_both_cgroups_were_seen" test "$(sqlite3 "$out/$name.zr" \
		"SELECT count(*) FROM memcg WHERE path IN ('/job', '/other')")" = 2
	claim "tiny_${k}_loses_and_says_so" test "$(info "$tiny" lost_events)" -gt 0
	claim "tiny_${k}_counts_what_the_kernel_lost" test "$(info "$tiny" lost_events)" = "$(overrun "$tiny")"
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
