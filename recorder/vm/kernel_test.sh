#!/usr/bin/env bash
# kernel_test.sh - replays on the kernel itself: what it was made to do is what the trace has, by the kernel's own counters
# and by a recording of the replay; it refuses what it should, and leaves nothing behind.
#
#	kernel_test.sh [KERNEL]...	(6.1 6.12 7.3)
#
# Prints cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."
. recorder/vm/claims

build=${BUILD:-build}
work=$(mktemp -d "${TMPDIR:-/tmp}/zreel-kernel.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Short: a page takes the emulator a millisecond.
"$build/zreel" cut traces/touch.zr -o "$work/touch.zr" --from 24s --to 24.2s
"$build/zreel" cut traces/compile.zr -o "$work/compile.zr" --from 80s --to 81s

metric()
{
	json "$at/$1.json" "runs[0].metrics.$2.mean" | sed 's/\..*//'
}

# within PERCENT A B: A is that near to B, and B is not nothing.
within()
{
	local difference=$(($2 > $3 ? $2 - $3 : $3 - $2))

	[ "$3" -gt 0 ] && [ $((difference * 100)) -le $(($1 * $3)) ]
}

same()
{
	cmp -s "$at/settings.before" "$at/$1" || { diff "$at/settings.before" "$at/$1" | sed 's/^/  /' && false; }
}

outs()
{
	echo $(($(metric "$1" zswpout) + $(metric "$1" store_rejected) + $(metric "$1" swpout_zero)))
}

ins()
{
	echo $(($(metric "$1" zswpin) + $(metric "$1" pswpin) + $(metric "$1" swpin_zero)))
}

does_as_planned()
{
	echo "  $kernel $1: $(outs "$1") pages out of $(metric "$1" swap_outs_planned), $(ins "$1") back of" \
		"$(metric "$1" refaults_planned), $(metric "$1" zswpwb) written back, $(metric "$1" cached_refaults) in memory"
	within 5 "$(outs "$1")" "$(metric "$1" swap_outs_planned)" &&
		within 5 "$(ins "$1")" "$(metric "$1" refaults_planned)"
}

# The plan is the trace's own: what `info` counts, less what the cut cannot know.
plans_the_trace()
{
	local trace=$1 out in

	out=$(($(info "$work/$trace" outcomes.stored) + $(info "$work/$trace" outcomes.rejected) +
		$(info "$work/$trace" outcomes.zero)))
	in=$(($(info "$work/$trace" outcomes.in_zswap) + $(info "$work/$trace" outcomes.in_disk) +
		$(info "$work/$trace" outcomes.in_zero)))
	[ "$(metric "$trace" swap_outs_planned)" -eq "$out" ] && [ "$(metric "$trace" refaults_planned)" -eq "$in" ]
}

# They come back from where they did in the recording, but for what the shrinker wrote back there.
from_where_recorded()
{
	echo "  $kernel $1: $(metric "$1" zswpin) from zswap, recorded $(info "$work/$1" outcomes.in_zswap);" \
		"$(metric "$1" pswpin) from disk, recorded $(info "$work/$1" outcomes.in_disk)"
	within 5 "$(metric "$1" zswpin)" "$(info "$work/$1" outcomes.in_zswap)"
}

# A limit of the policy in the way: the kernel writes back, or refuses stores.
meets_the_limit()
{
	echo "  $kernel full: $(metric full zswpwb) written back, $(metric full store_rejected) stores refused"
	[ $(($(metric full zswpwb) + $(metric full store_rejected))) -gt 0 ] && does_as_planned full
}

# A recording of the whole machine, begun before the pages that were out before, so these come on top.
recording_agrees()
{
	local stored in_zswap in_disk

	stored=$(json "$at/recorded.json" outcomes.stored)
	in_zswap=$(json "$at/recorded.json" outcomes.in_zswap) in_disk=$(json "$at/recorded.json" outcomes.in_disk)
	echo "  $kernel: recorded $in_zswap and $in_disk refaults, counted $(metric touch zswpin) and" \
		"$(metric touch pswpin); recorded $stored stores, counted $(metric touch zswpout) after the start"
	within 2 "$((in_zswap + in_disk))" "$(($(metric touch zswpin) + $(metric touch pswpin)))" &&
		[ "$stored" -ge "$(metric touch zswpout)" ]
}

refused()
{
	[ "$(cat "$at/$1.status")" -eq "$2" ] && grep -q "$3" "$at/$1.err"
}

test_kernel()
{
	local status=0 environment=()

	kernel=$1 at=$work/$1
	[[ $kernel != 6.1 ]] || environment=(env WITHOUT_RECORDER=1)
	mkdir "$at"
	cp "$work"/*.zr "$at"
	recorder/vm/run --retry -k "$kernel" -m 2048 --share "$at" --timeout 1500 --add "$build/zreel" \
		--add recorder/vm/guest-kernel --add recorder/vm/claims -- "${environment[@]}" guest-kernel \
		>"$at/log" 2>&1 || status=$?
	claim "on_${kernel}_all_replays_are_done" test "$status" -eq 0
	[[ $status -eq 0 ]] || { tail -n 20 "$at/log" | sed 's/^/  /' && return; }
	claim "${kernel}_refuses_without_swap" refused noswap 4 'no swap is active'
	claim "${kernel}_refuses_a_knob_by_name" refused knob 2 'plug=on.*running kernel decides that'
	claim "${kernel}_refuses_recorded_writebacks" refused writebacks 2 'leave out --drive'
	if [[ $kernel != 6.1 ]]; then
		claim "${kernel}_does_the_touch_trace" does_as_planned touch
		claim "${kernel}_touch_plan_is_the_trace" plans_the_trace touch
		claim "${kernel}_touch_comes_back_from_where_it_did" from_where_recorded touch
		claim "${kernel}_recording_of_the_replay_agrees" recording_agrees
		claim "${kernel}_touch_leaves_settings" same settings.touch
	fi
	claim "${kernel}_does_the_compile_trace" does_as_planned compile
	claim "${kernel}_compile_plan_is_the_trace" plans_the_trace compile
	claim "${kernel}_meets_the_limit_of_a_policy" meets_the_limit
	claim "${kernel}_compile_leaves_settings" same settings.compile
	claim "${kernel}_full_leaves_settings" same settings.full
	claim "${kernel}_ends_at_sigterm" test "$(cat "$at/term.status")" -eq 1
	claim "${kernel}_was_at_it_when_sigterm_came" test -n "$(grep zreel-replay "$at/settings.during")"
	claim "${kernel}_leaves_nothing_after_sigterm" same settings.term
	claim "${kernel}_keeps_what_was_done_as_partial" \
		test "$(json "$at/term.json" 'runs[0].partial')" = 1
}

for kernel in "${@:-6.1 6.12 7.3}"; do
	for one in $kernel; do
		test_kernel "$one"
	done
done
exit $failed
