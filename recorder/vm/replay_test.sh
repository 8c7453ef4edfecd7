#!/usr/bin/env bash
# replay_test.sh - a replay on real block devices in the guest: what the kernel's block statistics measured must be what
# the plan of the same policy counted, on the emulated NVMe drive and on a loop device.
#
# Prints cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."
. recorder/vm/claims

build=${BUILD:-build}
work=$(mktemp -d "${TMPDIR:-/tmp}/zreel-replay.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Eight seconds of the shipped recording, in which the pool is full: three policies on two drives take a minute.
"$build/zreel" cut traces/touch.zr -o "$work/touch.zr" --from 20s --to 28s
cat >"$work/job" <<'J'
set -e
truncate -s 1100M /tmp/loop.img
losetup /dev/loop0 /tmp/loop.img
cp touch.zr /tmp/
for device in nvme0n1 loop0; do
	zreel replay /tmp/touch.zr -p unbatched -p batched -p plugged --no-cpu \
		--on device /dev/$device --yes-destroy /dev/$device --runs /tmp/$device.zr
	zreel compare --json /tmp/$device.zr >$device.json
done
# Refusals: not named twice; holds swap; is mounted.
zreel replay /tmp/touch.zr -p batched --on device /dev/loop0 2>unnamed && touch unnamed.done
mkswap /dev/nvme0n1 >/dev/null && swapon /dev/nvme0n1
zreel replay /tmp/touch.zr -p batched --on device /dev/nvme0n1 --yes-destroy /dev/nvme0n1 2>swap && touch swap.done
swapoff /dev/nvme0n1
true
J
status=0
recorder/vm/run --retry -k 6.12 -m 3072 --disk 1100M --share "$work" --timeout 1200 --add "$build/zreel" -- sh job \
	>"$work/log" 2>&1 || status=$?
claim replay_runs_on_block_devices test "$status" -eq 0
[[ $status -eq 0 ]] || sed 's/^/  /' "$work/log"

# metric DEVICE RUN NAME: a mean.
metric()
{
	sqlite3 :memory: "SELECT json_extract(readfile('$work/$1.json'), '\$.runs[$2].metrics.$3.mean')"
}

figure()
{
	sqlite3 :memory: "SELECT json_extract(readfile('$work/$1.json'), '\$.runs[$2].metrics.$3.figure')"
}

# Exactly, but for a plug on the loop device: it has few tags, so while it is busy what the plug hands down meets in the
# software queue and merges there, which no plan of the plug alone can know. 3% for that.
as_planned()
{
	local allowed=0 difference=$(($2 > $3 ? $2 - $3 : $3 - $2))

	[[ $1 != loop0/plugged ]] || allowed=$(($3 * 3 / 100))
	[[ $3 -gt 0 && $difference -le $allowed ]]
}

for device in nvme0n1 loop0; do
	[[ -s $work/$device.json ]] || continue
	for run in 0 1 2; do
		policy=$(sqlite3 :memory: "SELECT json_extract(readfile('$work/$device.json'), '\$.runs[$run].policy')")
		measured=$(metric $device $run write_requests) planned=$(metric $device $run write_requests_planned)
		echo "  $device $policy: $measured requests measured, $planned planned"
		claim "${policy}_on_${device}_is_measured" test "$(figure $device $run write_requests)" = measured
		claim "${policy}_on_${device}_makes_the_planned_requests" as_planned "$device/$policy" "${measured%.*}" "${planned%.*}"
	done
	claim "batching_on_${device}_lengthens_requests" test "$(sqlite3 :memory: \
		"SELECT $(metric $device 1 pages_per_write_request) > $(metric $device 0 pages_per_write_request)")" = 1
done
claim refuses_a_device_not_named_twice test -s "$work/unnamed" -a ! -e "$work/unnamed.done"
claim refuses_active_swap test -s "$work/swap" -a ! -e "$work/swap.done"
exit $failed
