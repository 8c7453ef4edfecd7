#!/usr/bin/env bash
# zreel report: the page is well-formed and alone, has the figures of compare and explain, shows what was lost,
# and is harmless whatever the cgroups are called. What a browser makes of it is report_browser.sh.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

zreel=$(realpath "${BUILD:-build}/zreel")
here=$(realpath "$(dirname "$0")")
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here/../../traces/touch.zr" "$work/touch.zr"
cd "$work" || exit 1

# shellcheck source=ui/e2e/claims
. "$here/claims"

page() {
	python3 "$here/page.py" "$@"
}

# With two places where events were lost.
make_lossy() {
	capture 1000 3000 >lossy.txt
	exits 0 import lossy.txt -o lossy.zr
}

policies=(-p unbatched -p plugged -p batched+pool=5%)

write_page() {
	exits 0 report touch.zr "${policies[@]}" -o page.html && [ ! -s out ]
}

the_same_bytes() {
	exits 0 report touch.zr "${policies[@]}" -o again.html && cmp page.html again.html || return 1
	LC_ALL=C TZ=Asia/Tokyo exits 0 report touch.zr "${policies[@]}" -o - && cmp page.html out
}

figures_of_compare() {
	exits 0 replay touch.zr "${policies[@]}" --runs runs.zr && exits 0 compare runs.zr --json || return 1
	cp out compare.json
	page figures page.html compare.json || return 1
	exits 0 report touch.zr --runs runs.zr -o stored.html && page figures stored.html compare.json
}

# Two repetitions on a file, on which times differ: verdicts are there, and those of compare.
figures_of_a_device() {
	exits 0 replay touch.zr -p unbatched -p batched --on device "$work/swap.img" --reps 2 --runs device.zr ||
		{
			grep -qiE 'O_DIRECT|io_uring' err && skip "no O_DIRECT or io_uring here"
			return
		}
	exits 0 compare device.zr --json && cp out device.json &&
		exits 0 report touch.zr --runs device.zr -o device.html && page figures device.html device.json &&
		page says device.html 'measured on the target' "Welch's t test"
}

causes_of_explain() {
	local policy
	for policy in unbatched plugged batched+pool=5%; do
		exits 0 explain touch.zr -p "$policy" --json && cp out explain.json &&
			page causes page.html explain.json || return 1
	done
}

gaps_are_in_every_chart() {
	exits 0 report lossy.zr -p unbatched+pool=512K -p batched+pool=512K -o lossy.html &&
		page wellformed lossy.html && page gaps lossy.html 2 && page says lossy.html '114 events were lost in 2 gaps' &&
		page gaps page.html 0 && page says page.html 'No event was lost'
}

hostile_names_are_text() {
	local name
	cp touch.zr hostile.zr
	python3 - <<-'EOF' || return 1
		import sqlite3
		db = sqlite3.connect("hostile.zr")
		evil = "/\u4e16\u84ee.slice/</td><script>alert(1)</script>\x1b[31m\u202e'\"&amp;'); DROP TABLE run;--"
		db.execute("UPDATE memcg SET path = ?", (evil + "x" * 300,))
		db.execute("UPDATE env SET value = ? WHERE key = 'kernel.release'", ("</style><svg onload=alert(2)>",))
		db.execute("UPDATE area SET path = ?", ("]]><!--",))
		db.commit()
	EOF
	name=$(printf "<b>e\033[31m'\"&\n世蓮.zr")
	mv hostile.zr "$name" && exits 0 report "$name" -p batched -o hostile.html || return 1
	page wellformed hostile.html && page alone hostile.html &&
		page says hostile.html "世蓮.slice/</td><script>alert(1)</script>" "DROP TABLE run;--" "]]><!--" &&
		page without hostile.html "$(printf '\033')" "$(printf '\u202e')" "<script" "<svg onload" "<b>e"
}

only_a_page_is_replaced() {
	cp touch.zr keep.zr && complains 3 'is not a page' report touch.zr -o keep.zr && cmp keep.zr touch.zr || return 1
	echo old >old.txt && complains 3 'is not a page' report touch.zr -o old.txt && grep -qx old old.txt || return 1
	cp lossy.html replaced.html && exits 0 report touch.zr "${policies[@]}" -o replaced.html &&
		cmp replaced.html page.html
}

the_trace_is_left_alone() {
	cmp touch.zr "$here/../../traces/touch.zr" && [ -z "$(find . -name '*.part' -o -name '*-wal')" ] &&
		! ls -d "${TMPDIR:-/tmp}"/zreel-report-* 2>/dev/null
}

other_traces_are_left_out() {
	exits 0 replay lossy.zr -p batched+pool=512K --runs runs.zr && exits 0 report touch.zr --runs runs.zr -o mixed.html &&
		page says mixed.html '1 runs of other traces are left out' || return 1
	exits 0 replay lossy.zr -p batched+pool=512K --runs other.zr &&
		complains 3 'holds no runs on touch.zr' report touch.zr --runs other.zr -o none.html && [ ! -e none.html ]
}

wrong_calls() {
	complains 2 '\-o FILE is missing' report touch.zr && complains 2 'FILE is missing' report -o x.html &&
		complains 2 "nosuch" report touch.zr -p nosuch -o x.html && complains 3 'missing.zr' report missing.zr -o x.html &&
		complains 3 'no such|No such' report touch.zr -p batched -o no/such/x.html && [ ! -e x.html ] || return 1
	[ -w /dev/full ] || return 0
	"$zreel" report touch.zr -p batched -o - >/dev/full 2>err
	[ $? -eq 1 ] && grep -q 'standard output' err
}

claim a_trace_with_losses_is_made make_lossy
claim a_page_is_written write_page
claim the_page_is_well_formed_and_labelled page wellformed page.html
claim the_page_needs_nothing_else page alone page.html
claim the_same_input_gives_the_same_bytes_in_any_locale the_same_bytes
claim the_figures_are_those_of_compare figures_of_compare
claim measured_figures_and_verdicts_are_those_of_compare figures_of_a_device
claim the_causes_add_up_and_are_those_of_explain causes_of_explain
claim gaps_are_in_every_chart_over_time gaps_are_in_every_chart
claim hostile_names_are_only_text hostile_names_are_text
claim only_a_page_is_replaced only_a_page_is_replaced
claim runs_of_other_traces_are_left_out other_traces_are_left_out
claim the_trace_is_left_alone the_trace_is_left_alone
claim wrong_calls_are_refused wrong_calls
exit $bad
