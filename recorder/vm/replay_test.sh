#!/usr/bin/env bash
# replay_test.sh - replays on real block devices in the guest, whose half is guest-replay.
#
# Counts: of a walk over slots that are known, the requests and bios that the kernel counted (block statistics, io.stat,
# block tracepoints) are those that can be counted by hand and those of the plan, exactly; under each policy, on an NVMe
# drive and a loop device, with and without a scheduler, merging and not. On eight seconds of a shipped recording, to 1%.
# Faults: what is refused, and what is said and kept when a device fails, is full, or vanishes.
#
# Prints cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."
. recorder/vm/claims

build=${BUILD:-build}
work=$(mktemp -d "${TMPDIR:-/tmp}/zreel-replay.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Five kinds of walk, 40 of each: 32 slots in order; neighbours swapped; threes with holes between; backwards; 64 in order.
make_walks()
{
	awk 'BEGIN {
		print "# tracer: nop"
		swap = 64
		for (walk = 0; walk < 40; walk++) {
			n = 0; for (i = 0; i < 32; i++) slot[n++] = i; play()
			n = 0; for (i = 0; i < 32; i++) slot[n++] = i % 2 ? i - 1 : i + 1; play()
			n = 0; for (i = 0; i < 40; i++) if (i % 4 < 3) slot[n++] = i; play()
			n = 0; for (i = 31; i >= 0; i--) slot[n++] = i; play()
			n = 0; for (i = 0; i < 64; i++) slot[n++] = i; play()
		}
	}
	function play() {
		for (i = 0; i < n; i++) {
			line(1, "store", "swp=" swp(slot[i]) " flags=0x0 flags1=0x0 memcg=0xffff888001000000")
			line(1, "len", "len=1000")
			line(1, "store_ret", "ret=1")
		}
		line(2, "scan", "nr=" n)
		for (i = 0; i < n; i++) {
			line(2, "wb", "swp=" swp(slot[i]))
			line(2, "wb_ret", "ret=0")
		}
		line(2, "scan_ret", "ret=" n)
		swap += 128
	}
	function swp(i) { return sprintf("0x%x", swap + i) }
	function line(task, event, fields) {
		t += 50
		printf "  worker-%d      [000] .....  %d.%06d: %s: (0x0) %s\n", 70 + task, 10 + t / 1000000, t % 1000000, event, fields
	}'
}

# What each kind of walk makes, in that order: pages; contexts of up to 32 adjacent pages; requests when they meet in a
# plug, where each is compared with the last one only; requests when a scheduler may join those of a plug, too.
pages=$((40 * (32 + 32 + 30 + 32 + 64)))
contexts=$((40 * (1 + 32 + 10 + 32 + 2)))
plugged=$((40 * (1 + 16 + 10 + 1 + 1)))
coalesced=$((40 * (1 + 1 + 10 + 1 + 1)))

guest()
{
	local dmsetup=()

	! command -v dmsetup >/dev/null || dmsetup=(--add "$(command -v dmsetup):/bin/dmsetup")
	recorder/vm/run --retry -k 6.12 -m 3072 --disk 1100M --disk2 1100M --share "$work" --timeout 1200 \
		--module mq-deadline --module dm_mod "${dmsetup[@]}" --add "$build/zreel" \
		--add recorder/vm/guest-replay -- guest-replay "$1" >"$work/log" 2>&1 ||
		{ sed 's/^/  /' "$work/log" && return 1; }
}

# field NAME RUN PATH: of NAME.json.
field()
{
	sqlite3 :memory: "SELECT json_extract(readfile('$work/$1.json'), '\$.runs[$2].$3')"
}

# metric NAME RUN METRIC: a mean, whole.
metric()
{
	local value

	value=$(field "$1" "$2" "metrics.$3.mean")
	echo "${value%.*}"
}

# counted_as NAME RUN BIOS REQUESTS: bios and requests by the kernel, by the plan and by the tracepoints.
counted_as()
{
	local found expected="$3 $4 $3 $4 $4"

	found="$(metric "$1" "$2" write_bios) $(metric "$1" "$2" write_requests) $(metric "$1" "$2" write_bios_planned)"
	found="$found $(metric "$1" "$2" write_requests_planned) $(metric "$1" "$2" write_requests_traced)"
	[[ $found == "$expected" ]] || echo "  $1 run $2: bios, requests, the same planned, requests traced: $found, not $expected"
	[[ $found == "$expected" ]]
}

status_is()
{
	[[ $(cat "$work/$1.status") == "$2" ]] || { echo "  $1: status $(cat "$work/$1.status")" && return 1; }
}

says()
{
	grep -q "$2" "$work/$1.err" || { sed 's/^/  /' "$work/$1.err" && return 1; }
}

# near_plan NAME RUN: measured requests within 1% of the planned ones.
near_plan()
{
	local measured planned difference

	measured=$(metric "$1" "$2" write_requests)
	planned=$(metric "$1" "$2" write_requests_planned)
	difference=$((measured > planned ? measured - planned : planned - measured))
	echo "  $1 $(field "$1" "$2" policy): $measured requests measured, $planned planned"
	[[ $planned -gt 0 && $((difference * 100)) -le $planned ]]
}

check_counts()
{
	local device scheduler nomerges name run merged

	for device in nvme0n1 loop0; do
		for scheduler in none mq-deadline; do
			for nomerges in 0 2; do
				name=walks.$device.$scheduler.$nomerges
				merged=$contexts
				[[ $nomerges -eq 2 ]] || merged=$plugged
				[[ $nomerges -eq 2 || $scheduler == none ]] || merged=$coalesced
				claim "${name}_unbatched_is_counted_exactly" counted_as "$name" 0 $pages $pages
				claim "${name}_batched_is_counted_exactly" counted_as "$name" 1 $contexts $contexts
				claim "${name}_plugged_is_counted_exactly" counted_as "$name" 2 $contexts $merged
			done
		done
		for run in 0 1 2; do
			claim "recording_on_${device}_run_${run}_is_near_its_plan" near_plan "touch.$device" $run
			claim "requests_on_${device}_run_${run}_are_measured" \
				test "$(field "touch.$device" $run metrics.write_requests.figure)" = measured
			claim "pressure_on_${device}_run_${run}_is_measured" \
				test "$(field "touch.$device" $run metrics.io_some_us.figure)" = measured
		done
	done
	claim a_partition_is_counted_exactly counted_as walks.partition 0 $contexts $plugged
	claim bios_of_a_file_are_measured test "$(field walks.file 0 metrics.write_bios.figure)" = measured
	claim requests_of_a_file_are_not_measured test "$(field walks.file 0 metrics.write_requests.figure)" = planned
	echo "  4 tags: requests $(metric walks.tags 0 write_requests), $(metric walks.tags 1 write_requests)," \
		"$(metric walks.tags 2 write_requests), planned $pages, $contexts, $coalesced"
	claim few_tags_change_no_request_without_a_plug test \
		"$(metric walks.tags 0 write_requests) $(metric walks.tags 1 write_requests)" = "$pages $contexts"
	claim a_foreign_writer_is_noticed says walks.foreign 'somebody else wrote to the device: [1-9][0-9]* requests'
	claim a_foreign_writer_is_in_the_note grep -q 'somebody else wrote' "$work/walks.foreign.json"
	claim bios_are_ours_beside_a_foreign_writer test "$(metric walks.foreign 0 write_bios)" -eq $pages
	claim no_group_is_left cmp -s "$work/groups.before" "$work/groups.after"
	claim unlike_settings_are_named grep -q 'scheduler (none | mq-deadline), nomerges (0 | 2)' "$work/unlike.text"
	claim unlike_runs_come_into_one_table test "$(field unlike 5 group)" = 0
	claim the_serial_number_is_in_no_result eval "! grep -aq zreel0 '$work'/walks.nvme0n1.*.zr"
}

# refused NAME STATUS TEXT
refused()
{
	status_is "refused.$1" "$2" && says "refused.$1" "$3" && [[ -e $work/refused.$1.untouched ]]
}

# failed_well NAME RUNS TEXT: status 1, what was lost is named, and so many runs were kept, the last one as partial.
failed_well()
{
	status_is "$1" 1 && says "$1" "$3" && [[ $(field "$1" $(($2 - 1)) partial) == 1 ]] &&
		[[ $(field "$1" $(($2 - 1)) note) == *"the replay ends here"* ]]
}

one_write_was_cut_short()
{
	grep -l 'bytes went through' "$work"/full.*.err >/dev/null && grep -l 'No space left' "$work"/full.*.err >/dev/null
}

check_faults()
{
	claim refuses_a_device_not_named_twice refused unnamed 2 'yes-destroy'
	claim refuses_another_second_name refused misnamed 2 'yes-destroy'
	claim refuses_a_signature refused signature 1 'holds swap space'
	claim refuses_active_swap refused swap 1 'swap space in use'
	claim refuses_a_file_system refused file-system 1 'ext2, ext3 or ext4'
	claim refuses_a_mounted_device refused mounted 1 'is mounted'
	claim refuses_a_file_that_it_did_not_make refused file 3 'was not made by zreel'
	claim refuses_a_partition_table refused table 1 'partition table'
	claim refuses_a_disk_of_which_a_partition_is_in_use refused partition-in-use 1 'is in use'
	claim takes_the_partition_beside_it status_is free-partition 0
	for size in 4096 4092 4088 4084; do
		claim "full_at_${size}_KiB_ends_well" failed_well full.$size 1 "'/tmp/small/swap.img'"
		claim "full_at_${size}_KiB_leaves_no_file" test ! -s "$work/full.$size.left"
	done
	claim short_writes_are_told_from_no_space one_write_was_cut_short
	claim a_drive_pulled_out_is_told failed_well pulled 1 "/dev/nvme1n1"
	if command -v dmsetup >/dev/null; then
		claim refuses_a_device_that_is_held refused held 1 'is in use'
		claim an_io_error_names_the_slot failed_well broken 1 'from slot 10[0-9]* .*Input/output error'
		claim a_device_that_vanishes_is_told failed_well vanishing 1 'Input/output error'
	else
		skip devices_that_fail_and_vanish 'dmsetup is not installed; on Debian: apt install dmsetup'
	fi
}

make_walks >"$work/walks.txt"
"$build/zreel" import "$work/walks.txt" -o "$work/walks.zr" >/dev/null
# Eight seconds of the shipped recording, in which the pool is full.
"$build/zreel" cut traces/touch.zr -o "$work/touch.zr" --from 20s --to 28s
status=0
guest counts || status=1
claim replays_run_on_block_devices test $status -eq 0
[[ $status -ne 0 ]] || check_counts
status=0
guest faults || status=1
claim faults_end_in_time test $status -eq 0
[[ $status -ne 0 ]] || check_faults
exit $failed
