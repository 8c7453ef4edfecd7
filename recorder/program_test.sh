#!/usr/bin/env bash
# program_test.sh - zreel-record as a program: what it depends on, and what it says where it cannot record.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/.."

build=$(realpath "${BUILD:-build}")
claims=$(realpath ui/e2e/claims)
make -s BUILD="$build" static-record >/dev/null 2>&1 || true
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
zreel=$build/zreel-record
# shellcheck source=../ui/e2e/claims
. "$claims"

needs() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

needs_no_library_that_it_does_not_use() {
	! needs "$zreel" | grep -E 'curses|tinfo|uring|tracecmd'
}

static_program_needs_nothing() {
	[ -x "$build/zreel-record.static" ] && [ -z "$(needs "$build/zreel-record.static")" ] &&
		! readelf -l "$build/zreel-record.static" | grep -q INTERP &&
		"$build/zreel-record.static" --help | grep -q -- --flight
}

# Both are made from one table.
has_the_options_of_the_other_program() {
	options() { sed -nE 's/^ +(-., *)?(--[a-z-]+).*/\2/p' | grep -v -e --help -e --quiet | sort -u; }
	diff <("$build/zreel-record" --help | options) <("$build/zreel" record --help | options)
}

wrong_usage_is_told_by_the_exit_status() {
	exits 2 --no-such-option && exits 2 -d 0x10 -o t.zr && exits 2 --max-mem much -o t.zr && exits 2
}

says_what_it_takes() {
	local got=0
	if [ "$(id -u)" -ne 0 ]; then
		"$zreel" -o t.zr -d 1 2>err || got=$?
	else
		chmod 777 .
		setpriv --reuid 65534 --clear-groups "$zreel" -o t.zr -d 1 2>err || got=$?
	fi
	cat err
	[ $got -eq 4 ] && grep -qE 'CAP_|takes root|mount -t tracefs' err && [ ! -e t.zr ]
}

claim needs_no_library_that_it_does_not_use needs_no_library_that_it_does_not_use
claim static_program_needs_nothing static_program_needs_nothing
claim has_the_options_of_the_other_program has_the_options_of_the_other_program
claim wrong_usage_is_told_by_the_exit_status wrong_usage_is_told_by_the_exit_status
claim says_what_it_takes says_what_it_takes
exit $bad
