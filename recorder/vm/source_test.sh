#!/usr/bin/env bash
# source_test.sh [KERNEL]... - the recorder's sources and manners inside real kernels.
#
# On each kernel (6.1, 6.12 and 7.3) one boot, whose half is guest-source: the doctor's word, a lone burst, what a killed
# recorder left, perf with few capabilities and with a filter of cgroups while processors come and go, the flight recorder,
# and the block source by ftrace, perf and blktrace. Prints cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."
. recorder/vm/claims

build=${BUILD:-build}

hides()
{
	! grep -aqF "$2" "$1.zr"
}

# The events that the doctor announced, with function and form, are those that the recorder then defined.
doctor_told_the_truth()
{
	sqlite3 :memory: "SELECT json_extract(value, '\$.event') || ' ' || json_extract(value, '\$.function') || ' ' ||
		json_extract(value, '\$.form') FROM json_each(readfile('$here/doctor.json'), '\$.events')
		WHERE json_extract(value, '\$.ok') AND json_extract(value, '\$.form') != 'tracepoint'" | sort >"$here/told"
	sed -E 's#^(.)[0-9]*:[^/]*/([^ ]*) ([^ ]*).*#\1 \2 \3#' "$here/lone.events" | awk '
		{ back = sub(/%return$/, "", $3) || $1 == "r" }
		{ print $2, $3, ($1 == "f" ? "fprobe" : "kprobe") (back ? " return" : "") }' | sort >"$here/done"
	diff "$here/told" "$here/done" && [[ -s $here/told ]]
}

sql()
{
	sqlite3 "file:$1.zr?mode=ro" "$2"
}

events_in()
{
	"$build/zreel" sql --csv "$1.zr" "SELECT count(*) FROM events WHERE $2" | tail -n 1
}

equal()
{
	echo "  $1, $2"
	[[ $1 -gt 0 && $1 -eq $2 ]]
}

# 24576 sectors are 3072 slots.
in_both_halves()
{
	echo "  $(events_in "$1" "kind = 'OUT' AND slot < 3072") in the first, $(events_in "$1" "kind = 'OUT' AND slot >= 3072")"
	[[ $(events_in "$1" "kind = 'OUT' AND slot < 3072") -gt 0 && $(events_in "$1" "kind = 'OUT' AND slot >= 3072") -gt 0 ]]
}

# What blktrace saw of the partition's requests is what we saw.
blktrace_agrees()
{
	local name phase ours theirs bad=0

	area=$(sql "$here/block" "SELECT printf('0:%d:%d', start_sector, slots * 8) FROM area WHERE type = 0")
	rm -f "$here/blk.zr" "$here/blk-text.zr"
	blkparse -q -i nvme0n1 -D "$here/blk" -d "$here/blk.bin" -O
	"$build/zreel" import --swap-area "$area" -o "$here/blk.zr" "$here/blk.bin" >"$here/blk.imported" || return
	blkparse -q -i nvme0n1 -D "$here/blk" |
		"$build/zreel" import --swap-area "$area" -o "$here/blk-text.zr" - >>"$here/blk.imported" || return
	for phase in issue complete; do
		ours=$(events_in "$here/block" "kind = 'IO' AND area = 1 AND phase = '$phase'")
		for name in blk blk-text; do
			theirs=$(events_in "$here/$name" "kind = 'IO' AND phase = '$phase'")
			echo "  $phase: ours $ours, $name $theirs"
			near "$theirs" "$ours" || bad=1
		done
	done
	return $bad
}

is_the_disk_half()
{
	[[ $1 == 'N: zswap is on'* ]]
}

sources()
{
	local kernel=$1 here=$build/vm/source-$1 k=${1//./_} status=0 tool tools=() tids

	rm -rf "$here"
	mkdir -p "$here"
	for tool in blktrace dmsetup; do
		! command -v $tool >/dev/null || tools+=(--add "$(command -v $tool):/bin/$tool")
	done
	for _ in 1 2 3; do
		status=0
		recorder/vm/run --retry -k "$kernel" -c 3 -m 1024 --disk 128M --disk2 192M --share "$here" --timeout 2400 \
			--add "$build/zreel" --add "$build/zreel-record" --add "$(command -v setpriv):/bin/set-privileges" \
			--add "$(PATH=$PATH:/sbin:/usr/sbin command -v swapon):/bin/swap-on" \
			--add "$work/touch:/bin/random-touch" --add recorder/vm/claims --add recorder/vm/guest-source \
			--module dm_mod "${tools[@]}" -- guest-source >"$here/claims" 2>"$here/err" || status=$?
		if [[ $status -eq 0 ]] || ! grep '^guest-source: failed: ' "$here/err"; then
			break
		fi
	done
	sed -E "s/^(\[[ A-Z]+\]) /&${k}_/" "$here/claims"
	claim "${k}_guest_ends_well" test $status -eq 0
	[[ $status -eq 0 ]] || sed 's/^/  /' "$here/err"
	if [[ ! -e $here/half.zr ]]; then
		return
	fi

	claim "${k}_doctor_told_what_the_recorder_does" doctor_told_the_truth
	claim "${k}_auto_takes_ftrace" test "$(json "$here/lone.out" source)" = ftrace
	claim "${k}_clock_is_the_one_named" test "$(env_of "$here/lone" trace.clock)/$(env_of "$here/few" trace.clock)" = global/mono_raw
	claim "${k}_recording_with_sparse_cpus_loses_nothing" test "$(info "$here/lone" lost_events)" -eq 0
	claim "${k}_stores_with_sparse_cpus_are_zswpout" is_counter "$here/lone" outcomes.stored "$here/lone" zswpout
	claim "${k}_loads_with_sparse_cpus_are_zswpin" is_counter "$here/lone" outcomes.in_zswap "$here/lone" zswpin
	claim "${k}_anonymous_trace_hides_the_cgroup" hides "$here/lone" /job

	claim "${k}_auto_takes_perf_without_rights_to_tracefs" test "$(json "$here/few.out" source)" = perf
	# The processor came three times; a busy host may lose more.
	claim "${k}_perf_says_that_it_could_not_watch_a_cpu_that_was_not_there" test "$(info "$here/few" lost_events)" -ge 3
	claim "${k}_stores_with_few_capabilities_are_zswpout" is_counter "$here/few" outcomes.stored "$here/few" zswpout
	claim "${k}_loads_with_few_capabilities_are_zswpin" is_counter "$here/few" outcomes.in_zswap "$here/few" zswpin
	# Not what kworkers did to the cgroup's pages.
	tids=$(sql "$here/own" "SELECT group_concat(DISTINCT tid) FROM task")
	claim "${k}_filter_of_cgroups_has_all_that_its_tasks_did" equal "$(events_in "$here/own" "kind = 'OUT'")" \
		"$(events_in "$here/few" "kind = 'OUT' AND cgroup = '/job' AND task IN (SELECT id FROM task WHERE tid IN ($tids))")"
	claim "${k}_filter_of_cgroups_has_nothing_else" test "$(events_in "$here/own" "cgroup = '/other'")" = 0

	claim "${k}_flight_recorder_has_events" test "$(info "$here/flight" events.OUT)" -gt 0
	claim "${k}_flight_recorder_has_its_clock" test "$(env_of "$here/flight" trace.clock)" = boot

	for kind in OUT IO; do
		claim "${k}_flight_recorder_finds_the_type_number_of_the_area_in_${kind}" test "$(events_in "$here/flight" \
			"kind = '$kind' AND area IN (SELECT id FROM area WHERE type = 1 AND path LIKE '%/swap')")" -gt 0
	done

	for name in block block-perf; do
		claim "${k}_${name/-/_}_writes_are_pswpout" is_counter "$here/$name" events.OUT "$here/block" pswpout
		claim "${k}_${name/-/_}_reads_are_pswpin" is_counter "$here/$name" events.IN "$here/block" pswpin
		claim "${k}_${name/-/_}_knows_that_zswap_is_off" test "$(env_of "$here/$name" block.complete)" = Y
		for area in 1 2; do
			claim "${k}_${name/-/_}_area_${area}_was_used" \
				test "$(events_in "$here/$name" "kind = 'OUT' AND area = $area")" -gt 0
		done
	done
	if [[ -e $here/volume.zr ]]; then
		claim "${k}_volume_writes_are_pswpout" is_counter "$here/volume" events.OUT "$here/volume" pswpout
		claim "${k}_volume_requests_lie_in_both_pieces" in_both_halves "$here/volume"
	else
		skip "${k}_volume_writes_are_pswpout" "dmsetup is not installed; on Debian: apt install dmsetup"
	fi
	claim "${k}_block_is_the_disk_half_with_zswap_on" is_the_disk_half "$(env_of "$here/half" block.complete)"
	if [[ -d $here/blk ]]; then
		claim "${k}_blktrace_saw_the_same_requests" blktrace_agrees
	else
		skip "${k}_blktrace_saw_the_same_requests" "blktrace is not installed; on Debian: apt install blktrace"
	fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -std=gnu2x -O2 -static -o "$work/touch" recorder/vm/touch.c
kernels=("$@")
[[ $# -gt 0 ]] || kernels=(6.1 6.12 7.3)
for kernel in "${kernels[@]}"; do
	sources "$kernel"
done
exit $failed
