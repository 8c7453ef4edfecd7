#!/usr/bin/env bash
# The program as a user meets it: every command, its error paths and exit statuses, JSON that parses, and
# hostile input. Takes the program from $BUILD/zreel and makes its own trace unless $1 names one.
# Reports as cmocka does, for .ci/run-tests.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

zreel=$(realpath "${BUILD:-build}/zreel")
here=$(realpath "$(dirname "$0")")
export LC_ALL=C.UTF-8
unset NO_COLOR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
given=${1:+$(realpath "$1")}
cd "$work" || exit 1

# An imported trace does not say how much memory its machine had, so policies name their pool: small enough
# here that pages are written back.
unbatched=unbatched+pool=512K
batched=batched+pool=512K
lanes=(-p "$unbatched" -p "$batched")

# shellcheck source=ui/e2e/claims
. "$here/claims"

make_trace() {
	if [ -n "$given" ]; then
		cp "$given" t.zr && chmod u+w t.zr
	else
		capture >capture.txt && exits 0 import capture.txt -o t.zr
	fi
}

import_counts() {
	capture >capture.txt && json import capture.txt -o counted.zr --json || return 1
	grep -q '"raw_events": 14466' out && grep -q '"skipped": 0' out && return
	cat out
	return 1
}

import_reads_stdin() {
	capture | "$zreel" import - -o stdin.zr >out 2>err || return 1
	exits 0 info stdin.zr --json && grep -q '"OUT": 4000' out
}

every_command_has_help() {
	for command in record import info dump replay compare ui; do
		exits 0 "$command" --help && grep -q '^Usage: zreel '"$command" out && grep -q '^Example:' out || return 1
		cp out direct
		exits 0 help "$command" && cmp out direct || return 1
	done
	exits 0 --help && for command in record import info dump replay compare ui; do
		grep -q "^  $command " out || return 1
	done
}

info_is_json() {
	json info t.zr --json || return 1
	for key in events outcomes gaps lost_events span_ns chunk_bytes kernel complete; do
		grep -q "\"$key\"" out || return 1
	done
}

dump_formats_agree() {
	exits 0 dump t.zr --kind OUT --format csv || return 1
	local csv text lines
	csv=$(($(wc -l <out) - 1))
	exits 0 dump t.zr -k OUT && text=$(wc -l <out)
	exits 0 dump t.zr -k out -f json && lines=$(wc -l <out)
	[ "$csv" -gt 0 ] && [ "$csv" -eq "$text" ] && [ "$csv" -eq "$lines" ] || return 1
	! command -v python3 >/dev/null || python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <out
}

dump_cuts_by_time() {
	exits 0 dump t.zr --format csv && local all
	all=$(wc -l <out)
	exits 0 dump t.zr --format csv --to 50ms && local early
	early=$(($(wc -l <out) - 1))
	exits 0 dump t.zr --format csv --from 50ms
	[ "$early" -gt 0 ] && [ $((early + $(wc -l <out))) -eq "$all" ]
}

replay_leaves_the_trace_alone() {
	cksum t.zr >before
	exits 0 replay t.zr "${lanes[@]}" --runs runs.zr && cksum t.zr | cmp - before
}

replay_without_runs_stores_in_the_trace() {
	cp t.zr own.zr
	exits 0 replay own.zr -p "$batched" && exits 0 compare own.zr && grep -q '^zswap store calls' out
}

replay_on_a_file() {
	exits 0 replay t.zr --on device "$work/swap.img" --reps 2 --runs device.zr --json "${lanes[@]}" || {
		grep -qiE 'O_DIRECT|io_uring' err && return 0
		return 1
	}
	json compare device.zr --json && grep -q '"measured"' out && grep -q '"n": 2' out
}

compare_is_json_in_the_order_of_the_policies() {
	json compare runs.zr --json || return 1
	grep '"policy"' out | tr -d ' ,\n' | grep -qF "\"policy\":\"$unbatched\"\"policy\":\"$batched\"" &&
		grep -q '"pages_per_write_request"\|"write_requests"' out && grep -q '"figure": "planned"' out
}

unlike_runs_get_their_own_tables() {
	cp runs.zr both.zr && cp t.zr other.zr
	capture | sed 's/worker-77/other-78/' >other.txt && rm -f other.zr &&
		exits 0 import other.txt -o other.zr && exits 0 replay other.zr -p "$batched" --runs both.zr &&
		exits 0 compare both.zr && grep -q '2 tables: the runs differ in trace' out
}

the_baseline_is_chosen() {
	exits 0 compare runs.zr --baseline "$batched" && grep -qE '^ +batched[^ ]+ +unbatched' out &&
		complains 2 'nosuch' compare runs.zr --baseline nosuch
}

policies_are_listed() {
	exits 0 replay --policies && grep -q '^  hysteresis' out && grep -q '^  batch ' out
}

dump_screen() {
	exits 0 ui t.zr "${lanes[@]}" --dump --size 100x30 --script '<frame 20>w?' && [ "$(wc -l <out)" -eq 30 ] && grep -q 'Keys' out
}

screen_is_ascii_in_the_c_locale() {
	LC_ALL=C exits 0 ui t.zr "${lanes[@]}" --dump --script '<end>' && ! LC_ALL=C grep -q '[^ -~]' out
}

near_commands_are_suggested() {
	complains 2 'did you mean `zreel replay`' replya t.zr &&
		complains 2 'did you mean --runs' replay t.zr --rnus x &&
		complains 2 'no command' frobnicate && complains 2 'no command' help frobnicate
}

wrong_usage_is_2() {
	exits 2 && complains 2 'FILE is missing' info && complains 2 'one argument too many' info t.zr t.zr &&
		complains 2 '\-o FILE' import x && complains 2 '\-o FILE' record &&
		complains 2 'takes a time' dump t.zr --from soon && complains 2 'kinds are OUT' dump t.zr -k NONE &&
		complains 2 'later than' dump t.zr --from 2 --to 1 && complains 2 'nosuch' replay t.zr -p nosuch &&
		complains 2 'nosuch' ui t.zr -p nosuch && complains 2 'six|lanes' ui t.zr -p batched -p batched \
		-p batched -p batched -p batched -p batched -p batched &&
		complains 2 'null' replay t.zr --on tape && complains 2 'path' replay t.zr --on device &&
		complains 2 'with --dump' ui t.zr --script x && complains 2 'not a key' ui t.zr "${lanes[@]}" --dump --script '<x>' &&
		complains 2 'columns and rows' ui t.zr --dump --size big
}

bad_input_is_3() {
	echo 'this is not a trace' >text.zr
	: >empty.zr
	head -c 3000 t.zr >cut.zr
	printf 'nothing known here\nnor here\n' >unknown.txt
	for file in missing.zr text.zr cut.zr; do
		for command in info dump replay compare "ui --dump"; do
			# shellcheck disable=SC2086
			complains 3 "$file" $command "$file" || return 1
		done
	done
	complains 3 'missing.txt' import missing.txt -o new.zr && complains 3 'nothing known here' import unknown.txt -o new2.zr &&
		complains 3 't.zr' import capture.txt -o t.zr && complains 3 'no replay runs' compare t.zr
}

damaged_events_are_told() {
	cp t.zr damaged.zr && exits 0 info t.zr --json || return 1
	local size i
	size=$(stat -c %s damaged.zr)
	for i in 3 4 5 6 7; do
		dd if=/dev/urandom of=damaged.zr bs=512 seek=$((size * i / 8 / 512)) count=4 conv=notrunc status=none
	done
	"$zreel" info damaged.zr >out 2>err </dev/null
	[ $? -eq 3 ] || [ $? -eq 0 ] || return 1
}

no_terminal_is_4() {
	complains 4 'needs a terminal' ui t.zr
}

a_full_disk_is_1() {
	[ -w /dev/full ] || return 0
	local status=0
	"$zreel" dump t.zr >/dev/full 2>err || status=$?
	[ "$status" -eq 1 ] && grep -q 'standard output' err
}

hostile_names_stay_harmless() {
	local name
	name=$(printf "e\033[31m'); DROP TABLE run;--\n世蓮.zr")
	cp t.zr "$name" && exits 0 info "$name" && ! grep -q "$(printf '\033')" out || return 1
	exits 0 replay "$name" -p "$batched" && ! grep -q "$(printf '\033')" out && grep -q '世蓮' out || return 1
	exits 3 info "$name.missing" && ! grep -q "$(printf '\033')" err || return 1
	json info "$name" --json && exits 0 ui "$name" "${lanes[@]}" --dump && ! grep -q "$(printf '\033')" out
}

a_closed_pipe_ends_quietly() {
	"$zreel" dump t.zr 2>err | head -n 1 >out
	[ -s out ] && [ ! -s err ]
}

claim import_makes_a_trace_from_text make_trace
claim import_counts_lines_and_events import_counts
claim import_reads_standard_input import_reads_stdin
claim every_command_has_help_with_an_example every_command_has_help
claim version_is_printed exits 0 --version
claim info_json_has_the_contract_keys info_is_json
claim dump_formats_agree_on_the_number_of_events dump_formats_agree
claim dump_cuts_by_time dump_cuts_by_time
claim replay_with_runs_leaves_the_trace_alone replay_leaves_the_trace_alone
claim replay_without_runs_stores_in_the_trace replay_without_runs_stores_in_the_trace
claim replay_on_a_file_is_measured replay_on_a_file
claim compare_json_follows_the_order_of_the_policies compare_is_json_in_the_order_of_the_policies
claim compare_never_mixes_unlike_runs unlike_runs_get_their_own_tables
claim compare_takes_a_baseline the_baseline_is_chosen
claim presets_and_knobs_are_listed policies_are_listed
claim a_screen_is_dumped_without_a_terminal dump_screen
claim a_screen_is_ascii_in_the_c_locale screen_is_ascii_in_the_c_locale
claim near_commands_and_options_are_suggested near_commands_are_suggested
claim wrong_usage_has_status_2 wrong_usage_is_2
claim bad_input_has_status_3 bad_input_is_3
claim damaged_events_never_crash damaged_events_are_told
claim a_dashboard_without_a_terminal_has_status_4 no_terminal_is_4
claim output_that_cannot_be_written_has_status_1 a_full_disk_is_1
claim hostile_names_stay_harmless hostile_names_stay_harmless
claim a_closed_pipe_ends_quietly a_closed_pipe_ends_quietly
exit $bad
