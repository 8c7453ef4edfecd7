#!/usr/bin/env bash
# A replay on a device that is interrupted: at many moments, chosen by strace as the N-th call of a kind, so that they are
# the same each time. It ends as one that was interrupted, leaves no scratch file, and its results can be read and say
# that they are partial. Takes the program from $BUILD/zreel; reports as cmocka does, for .ci/run-tests.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

zreel=$(realpath "${BUILD:-build}/zreel")
here=$(realpath "$(dirname "$0")")
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# shellcheck source=ui/e2e/claims
. "$here/claims"

signals=--default-signal=INT,TERM,HUP
lanes=(-p unbatched+pool=512K -p batched+pool=512K)

# strikes SIGNAL CALL N [OPTION]...: a replay on a scratch file that gets the signal in the N-th such call. The status is in
# got, stderr in err; it fails if the file is still there.
strikes() {
	local signal=$1 call=$2 n=$3
	shift 3
	got=0
	rm -f runs.zr
	# Which calls there are differs between machines; that one never comes is no fault. A job in the background begins
	# with signals ignored, which is no matter of ours.
	ASAN_OPTIONS=detect_leaks=0 env $signals strace -f -qq -o trace.txt -e trace="$call" -e inject="$call:signal=$signal:when=$n" \
		"$zreel" replay t.zr --on device swap.img --runs runs.zr "${lanes[@]}" "$@" >out 2>err </dev/null || got=$?
	[ ! -e swap.img ] && return
	echo "$signal in call $n of $call: the scratch file is still there (status $got)"
	return 1
}

possible() {
	command -v strace >/dev/null || skip 'strace is not installed' || return 77
	strace -qq -o trace.txt -e trace=none true || skip 'strace may not trace here' || return 77
	strikes INT io_uring_enter 65535 || return 1
	[ "$got" -eq 0 ] && return
	grep -qE "^zreel.*(O_DIRECT|io_uring)" err && skip 'no io_uring or O_DIRECT here'
}

# What is stored can be read; of runs that are there, those cut short say so.
results_are_whole() {
	[ -e runs.zr ] || return 0
	exits 0 sql runs.zr 'SELECT count(*) FROM run WHERE partial = 0' && [ "$(tail -n 1 out)" -eq 0 ]
}

ends_as_interrupted() {
	local signal call calls n
	for signal in INT TERM HUP; do
		calls=(io_uring_enter)
		[ "$signal" = INT ] && calls+=(fdatasync ftruncate io_uring_register)
		for call in "${calls[@]}"; do
			for n in 1 2 7 50 333; do
				strikes $signal $call $n || return 1
				# Behind the last such call it was never struck; behind the last event it had done all.
				[ "$got" -eq 0 ] && ! grep -q "SIG$signal" trace.txt && break
				# Before the replay begins, the signal ends the program as it ends any.
				if ! { [ "$got" -eq 1 ] && grep -q interrupted err; } &&
					! { [ "$got" -gt 128 ] && ! grep -q scratch err; }; then
					echo "$signal in call $n of $call: status $got"
					cat err
					return 1
				fi
			done
		done
	done
}

what_was_done_is_stored_as_partial() {
	strikes INT io_uring_enter 100 && [ "$got" -eq 1 ] && results_are_whole &&
		exits 0 sql runs.zr 'SELECT count(*) FROM run' && [ "$(tail -n 1 out)" -eq 1 ] &&
		exits 0 compare runs.zr && grep -qi 'partial\|ended early' out
}

a_stop_ends_the_wait_for_the_next_event() {
	strikes TERM io_uring_enter 3 --pace scaled:0.001 && [ "$got" -eq 1 ] && grep -q interrupted err && results_are_whole
}

under_nohup_it_goes_on() {
	local signals=--ignore-signal=HUP
	strikes HUP io_uring_enter 3 && [ "$got" -eq 0 ] && grep -q SIGHUP trace.txt &&
		exits 0 sql runs.zr 'SELECT count(*) FROM run WHERE partial = 0' && [ "$(tail -n 1 out)" -eq 2 ]
}

an_own_file_is_left_where_it_was() {
	exits 0 replay t.zr --on device swap.img --runs first.zr -p batched+pool=512K || return 1
	: >empty && mv empty swap.img
	strikes INT io_uring_enter 50 --yes-destroy swap.img && return 1
	[ "$got" -eq 1 ] && [ -e swap.img ] && rm swap.img
}

capture >capture.txt && exits 0 import capture.txt -o t.zr || exit 1
claim a_replay_under_strace_ends_well possible
if grep -q skipped claim.out; then
	exit $bad
fi
claim interrupted_at_many_moments_it_leaves_nothing ends_as_interrupted
claim what_was_done_is_stored_as_partial what_was_done_is_stored_as_partial
claim a_stop_ends_the_wait_for_the_next_event a_stop_ends_the_wait_for_the_next_event
claim under_nohup_it_goes_on under_nohup_it_goes_on
claim an_own_file_is_left_where_it_was an_own_file_is_left_where_it_was
exit $bad
