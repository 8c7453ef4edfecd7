#!/usr/bin/env bash
# The answers as a user asks for them: explain, sweep, the what-if knobs and the drive by writebacks, on a
# trace of a capture made by arithmetic. Takes the program from $BUILD/zreel.
# Reports as cmocka does, for .ci/run-tests.
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

# Two tasks store in turn, each in a run of slots of its own; every third page of the first comes back. Of what
# is stored the kernel writes back one page in four, in pairs of neighbours, one shrinker call a pair.
make_capture() {
	awk 'BEGIN {
		print "# tracer: nop"
		for (i = 0; i < 3000; i++) {
			for (task = 0; task < 2; task++) {
				swp = sprintf("0x%x", 64 + i + task * 8192)
				line(task, "store", "swp=" swp " flags=0x0 flags1=0x0 memcg=0xffff888001000000")
				line(task, "len", "len=" 500 + i * 37 % 2000)
				line(task, "store_ret", "ret=1")
			}
			if (i % 3 == 0 && i > 300) {
				swp = sprintf("0x%x", 64 + i - 300)
				line(0, "load", "swp=" swp)
				line(0, "load_ret", "ret=1")
			}
			if (i % 8 == 7 && i > 400) {
				line(2, "scan", "nr=2")
				for (k = 0; k < 2; k++) {
					swp = sprintf("0x%x", 64 + i + k - 400 + 8192)
					line(2, "wb", "swp=" swp)
					line(2, "wb_ret", "ret=0")
				}
				line(2, "scan_ret", "ret=2")
			}
		}
	}
	function line(task, event, fields) {
		t += 50
		printf "  worker-%d      [000] .....  %d.%06d: %s: (0x0) %s\n", 70 + task, 10 + t / 1000000, t % 1000000, event, fields
	}'
}

make_trace() {
	make_capture >capture.txt && exits 0 import capture.txt -o t.zr
}

# number KEY: the figure of a key in the JSON of `out`.
number() {
	grep -oE "\"$1\": [-0-9.e+]+" out | head -n 1 | grep -oE '[-0-9.e+]+$'
}

is_json() {
	! command -v python3 >/dev/null || python3 -m json.tool out >/dev/null
}

breaks_add_up() {
	exits 0 explain t.zr -p batched+pool=512K --json && is_json || return 1
	local sum=0 n
	for n in $(sed -n '/"breaks"/,/}/p' out | grep -oE ': [0-9]+' | tr -d ': '); do
		sum=$((sum + n))
	done
	[ "$sum" -gt 0 ] && [ "$sum" -eq "$(number contexts)" ]
}

interleaving_is_seen() {
	exits 0 explain t.zr -p batched+pool=512K --json || return 1
	[ "$(number interleaved)" -gt "$(number order)" ] && [ "$(number interleaved)" -gt 100 ] || return 1
	exits 0 explain t.zr -p batched+pool=512K && grep -q 'commonest cause, .* is interleaved' out &&
		grep -q 'virtual swap layer' out
}

ceilings_hold() {
	exits 0 explain t.zr -p batched+pool=512K --json || return 1
	awk -v actual="$(number actual)" -v walk="$(number sorted_walk)" -v wide="$(number sorted_256)" \
		-v vswap="$(number vswap)" 'BEGIN { exit !(actual <= walk && actual < vswap && walk > 1 && wide > 1) }'
}

nothing_to_explain_is_said() {
	exits 0 explain t.zr -p batched+pool=1G && grep -q 'Nothing is written back' out &&
		exits 0 explain t.zr -p batched+pool=1G --json && is_json && [ "$(number pages)" -eq 0 ]
}

explain_errors() {
	complains 2 'nosuch' explain t.zr -p nosuch && complains 2 'FILE is missing' explain &&
		complains 3 'missing.zr' explain missing.zr && complains 3 'mem=BYTES' explain t.zr -p batched
}

sweep_is_a_table() {
	exits 0 sweep t.zr --grid 'pool=256K,512K,1M;batch=off,on' && [ "$(grep -c 'unbatched+pool' out)" -ge 6 ] &&
		grep -q 'Pareto front' out && grep -q '^\* unbatched' out
}

sweep_is_the_replays() {
	local policy=unbatched+pool=512K+batch=on
	exits 0 sweep t.zr -g 'pool=256K,512K;batch=off,on' --metric write_requests,disk_refaults -j 3 --json --runs swept.zr &&
		is_json || return 1
	grep -A 6 "\"$policy\"" out | grep -oE '"write_requests": [0-9]+' >swept
	exits 0 replay t.zr -p "$policy" --runs alone.zr --json || return 1
	grep -A 1 '"write_requests"' out | grep -oE '"mean": [0-9]+' | sed 's/"mean"/"write_requests"/' >alone
	[ -s swept ] && cmp swept alone && exits 0 compare swept.zr && grep -q 'write requests' out
}

threads_change_nothing() {
	local grid='pool=256K,512K,1M;slots=recorded,vswap;order=lru,sorted,cluster'
	exits 0 sweep t.zr -g "$grid" -j 1 --json && cp out one && exits 0 sweep t.zr -g "$grid" -j 4 --json && cmp out one
}

sweep_errors() {
	complains 2 'grid is missing' sweep t.zr && complains 2 'KNOB=VALUE' sweep t.zr -g pool &&
		complains 2 "'nosuch' is not a knob" sweep t.zr -g nosuch=1 &&
		complains 2 'did you mean .write_requests' sweep t.zr -g batch=on -p batched+pool=1M -m write_request &&
		complains 3 'missing.zr' sweep missing.zr -g pool=1M
}

what_ifs_replay() {
	exits 0 replay t.zr -p vswap+pool=512K -p sorted+pool=512K -p batched+pool=512K+order=cluster --runs whatif.zr &&
		exits 0 compare whatif.zr && grep -q 'vswap' out
}

recorded_writebacks_are_kept() {
	local recorded
	exits 0 info t.zr --json && recorded=$(number WB)
	exits 0 replay t.zr --drive writebacks -p batched+pool=1G -p unbatched+pool=1G --runs wb.zr --json && is_json &&
		grep -q '"drive": "writebacks"' out || return 1
	grep -A 1 '"written_back_pages"' out >mean && mv mean out
	[ "$recorded" -gt 100 ] && [ "$(number mean)" = "$recorded" ]
}

claim a_trace_is_made_from_text make_trace
claim explain_breaks_add_up_to_the_ios breaks_add_up
claim explain_sees_tasks_that_interleave interleaving_is_seen
claim explain_ceilings_lie_above_what_is ceilings_hold
claim explain_says_when_nothing_was_written nothing_to_explain_is_said
claim explain_errors_have_their_status explain_errors
claim sweep_prints_a_table_and_the_front sweep_is_a_table
claim sweep_figures_are_those_of_replay sweep_is_the_replays
claim sweep_is_the_same_on_any_number_of_threads threads_change_nothing
claim sweep_errors_have_their_status sweep_errors
claim what_if_knobs_replay_and_compare what_ifs_replay
claim recorded_writebacks_are_kept_as_they_are recorded_writebacks_are_kept
exit $bad
