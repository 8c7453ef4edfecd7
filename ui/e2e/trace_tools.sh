#!/usr/bin/env bash
# The tools for trace files as a user meets them: cut, merge, verify, dump's exports, sql, info of a folder;
# their error paths, interruption, and what others make of the exports (fio, python3 where they are).
# Takes the program from $BUILD/zreel, and a trace with block requests from $1 or the shipped ones. Reports as cmocka does, for .ci/run-tests.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

zreel=$(realpath "${BUILD:-build}/zreel")
extension=$(realpath "${BUILD:-build}/zreel_events")
here=$(realpath "$(dirname "$0")")
export LC_ALL=C.UTF-8
unset NO_COLOR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
shipped=$(realpath "${1:-traces/touch.zr}")
cd "$work" || exit 1

# shellcheck source=ui/e2e/claims
. "$here/claims"

# A figure of the JSON in out, as it is printed, one a line.
figure() {
	sed -nE "s/^ *\"$1\": ([^,]*),?$/\1/p" out | head -n 1
}

# A capture of 10 s, by arithmetic: two tasks in two cgroups store 4,000 pages each on an area of their own,
# every third page comes back, every fifth is freed; events are lost at 5 s.
make_capture() {
	awk 'BEGIN {
		print "# tracer: nop"
		for (i = 0; i < 4000; i++) {
			for (a = 0; a < 2; a++) {
				store(a, i)
				if (i % 3 == 0 && i > 300)
					load(a, i - 300)
				if (i % 5 == 0 && i > 600)
					line(a, "free", "swp=" swp(a, i - 600))
			}
			if (i == 2000)
				print "CPU:1 [LOST 99 EVENTS]"
		}
	}
	function swp(a, slot) { return (a ? "0x4" : "0x0") sprintf("%015x", 64 + slot) }
	function store(a, slot) {
		line(a, "store", "swp=" swp(a, slot) " flags=0x0 flags1=0x0 memcg=0xffff88800100" a "000")
		line(a, "len", "len=" 500 + slot * 37 % 2000)
		line(a, "store_ret", "ret=1")
	}
	function load(a, slot) {
		line(a, "load", "swp=" swp(a, slot))
		line(a, "load_ret", "ret=" slot % 2)
	}
	function line(a, event, fields) {
		t = t + 312
		printf "  worker-%d      [000] .....  %d.%06d: %s: (0x0) %s\n", 77 + a, 10 + t / 1000000, t % 1000000, event, fields
	}'
}

# Through a pipe, as if it were live: a chunk a second, and not all in one.
make_trace() {
	make_capture >capture.txt && cat capture.txt | "$zreel" import - -o t.zr && exits 0 info t.zr --json &&
		[ "$(figure OUT)" -eq 8000 ] && [ "$(figure GAP)" -eq 1 ]
}

every_command_has_help() {
	for command in cut merge verify sql; do
		exits 0 "$command" --help && grep -q '^Usage: zreel '"$command" out && grep -q '^Example:' out || return 1
	done
}

cut_keeps_the_gap() {
	local at
	at=$("$zreel" dump t.zr -k GAP | awk '{print $1}')
	exits 0 cut t.zr -o gap.zr --from 4s --to 6s --slots 1-2 && exits 0 dump gap.zr -f csv || return 1
	[ "$(wc -l <out)" -eq 2 ] && grep -q ',GAP,' out && [[ $at == [45].* ]] || return 1
	json cut t.zr -o span.zr --from 4s --to 6s --json && [ "$(figure lost_events)" -eq 99 ]
}

# What dump prints for a selection is what cut takes.
cut_and_dump_select_the_same() {
	local n=0
	while read -r selection; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		exits 0 cut t.zr -o "s$n.zr" $selection && exits 0 dump "s$n.zr" -f csv && cp out cut.csv &&
			exits 0 dump t.zr -f csv $selection && cmp out cut.csv && [ "$(wc -l <out)" -gt 10 ] || return 1
	done <<-'END'
		--from 1s --to 2500ms
		--area 2
		--cgroup 1
		--slots 100-150
		--area 1 --cgroup 1 --slots 1000-1999 --from 2s
	END
}

parts_merge_to_the_whole() {
	exits 0 dump t.zr -f csv && cp out whole.csv && exits 0 cut t.zr -o a1.zr --area 1 &&
		exits 0 cut t.zr -o a2.zr --area 2 && json merge --same-host a1.zr a2.zr -o back.zr --json &&
		[ "$(figure duplicates)" -eq 1 ] && exits 0 dump back.zr -f csv && cmp out whole.csv
}

# Pairs of the same events: rounded down by awk, and by each way to a coarser trace.
times_are_rounded() {
	local round='NR > 1 { $2 = sprintf("%.0f", $2 - $2 % 1000) } { print }'
	exits 0 dump t.zr -f csv && awk -F, -v OFS=, "$round" out >wanted.csv &&
		exits 0 cut t.zr -o us.zr --time-resolution us && exits 0 dump us.zr -f csv && cmp out wanted.csv &&
		exits 0 import capture.txt -o ius.zr --time-resolution us && exits 0 dump ius.zr -f csv && cmp out wanted.csv &&
		exits 0 info us.zr && grep -q 'exact to 1.00 us' out && json info us.zr --json && [ "$(figure time_unit_ns)" = 1000 ] &&
		json info t.zr --json && [ "$(figure time_unit_ns)" = 1 ] &&
		complains 2 'time-resolution' import capture.txt -o no.zr --time-resolution min && [ ! -e no.zr ] &&
		exits 0 record --help && grep -q 'time-resolution ns|us|ms' out && "$zreel-record" --help | grep -q time-resolution
}

hosts_merge() {
	sed 's/worker/other/' capture.txt | "$zreel" import - -o t2.zr >out 2>err || return 1
	json merge t.zr t2.zr -o two.zr --json && [ "$(figure hosts)" -eq 2 ] || return 1
	local events
	events=$(figure events)
	exits 0 info two.zr --json && [ "$(figure OUT)" -eq 16000 ] && [ "$(figure GAP)" -eq 2 ] &&
		exits 0 cut two.zr -o second.zr --host 1 && exits 0 info second.zr --json &&
		[ "$(figure OUT)" -eq 8000 ] && [ "$events" -gt 16000 ] &&
		complains 3 'holds too' merge two.zr t2.zr -o no.zr && [ ! -e no.zr ] &&
		complains 2 'choose it with --host' dump two.zr -f fio &&
		complains 2 'takes traces of one host' merge --same-host two.zr t.zr -o no.zr && [ ! -e no.zr ]
}

folder_is_summed() {
	mkdir folder && cp t.zr folder/one.zr && cp t2.zr folder/two.zr && echo x >folder/note.txt &&
		json info folder --json && [ "$(figure OUT)" -eq 16000 ] && [ "$(grep -c '"file":' out)" -eq 2 ] &&
		exits 0 info folder && grep -qE '^all .* 16,000 ' out && ! grep -q note out || return 1
	head -c 20000 t.zr >folder/bad.zr
	complains 3 '1 of 3 traces' info folder && grep -qE '^all .* 16,000 ' out && grep -q '^bad.zr .*damaged' out &&
		exits 3 info folder --json && grep -q '"error"' out && mkdir none && complains 3 'no trace' info none
}

verify_finds_damage() {
	json verify t.zr --json && [ "$(figure sound)" = true ] && [ "$(figure damages)" = "" ] || return 1
	cp t.zr bad.zr
	# The last bytes of a chunk, found by what stands in front of them.
	local at
	at=$(grep -obUa ZRCK bad.zr | sed -n 2p | cut -d: -f1)
	printf 'XX' | dd of=bad.zr bs=1 seek=$((at + 100)) conv=notrunc status=none
	cksum bad.zr >before
	complains 3 'is damaged; --repair' verify bad.zr && grep -q 'chunk .*checksum' out &&
		exits 3 verify bad.zr --json && grep -q '"check": "chunk"' out && [ "$(figure bad_chunks)" -eq 1 ] &&
		complains 3 'is now in saved.zr' verify bad.zr --repair -o saved.zr && cksum bad.zr | cmp - before &&
		exits 0 verify saved.zr && grep -q sound out && exits 0 info saved.zr --json && [ "$(figure GAP)" -eq 2 ] &&
		complains 3 'bad.zr: chunk' info bad.zr
}

verify_opens_what_was_cut_short() {
	[ -e "$shipped" ] || skip "$shipped is not there" || return
	head -c $(($(stat -c %s "$shipped") * 2 / 3)) "$shipped" >short.zr
	complains 3 'short.zr' info short.zr && exits 3 verify short.zr --repair -o rest.zr && exits 0 verify rest.zr &&
		exits 0 info rest.zr --json && [ "$(figure OUT)" -gt 100 ]
}

ftrace_comes_back() {
	exits 0 dump t.zr -f ftrace -o t.ftrace && exits 0 import t.ftrace -o again.zr &&
		exits 0 dump again.zr -f csv && cp out again.csv && exits 0 dump t.zr -f csv && cmp out again.csv &&
		[ "$(wc -l <out)" -gt 10000 ]
}

oracle_is_read_by_others() {
	exits 0 dump t.zr -f oracle -o t.oracle || return 1
	[ $(($(stat -c %s t.oracle) % 24)) -eq 0 ] && complains 2 'to a file' dump t.zr -f oracle -k FREE && return 1
	"$zreel" dump t.zr -f oracle 2>err | cat >/dev/null
	grep -q 'must be written to a file' err || return 1
	command -v python3 >/dev/null || return 0
	python3 - <<-'END'
		import struct
		records = list(struct.iter_unpack("<IQIq", open("t.oracle", "rb").read()))
		later = {}
		for i in range(len(records) - 1, -1, -1):
		    time, key, size, following = records[i]
		    assert following == later.get(key, -1), i
		    assert size > 0 and key >> 32 in (1, 2)
		    later[key] = i
		assert len(records) == 8000 + 2 * 1233, len(records)
		assert all(a[0] <= b[0] for a, b in zip(records, records[1:]))
	END
}

# KiB of the requests that were issued for an operation, from the raw events.
issued_kib() {
	"$zreel" dump "$shipped" -f csv -k IO "${part[@]}" |
		awk -F, -v op="$1" '$11 == op " issue" { n += $9 } END { print n / 2 }'
}

fio_replays() {
	command -v fio >/dev/null || skip "fio is not installed" || return
	[ -e "$shipped" ] || skip "$shipped is not there" || return
	local part=(--to 2s)
	exits 0 dump "$shipped" -f fio -o t.iolog "${part[@]}" && truncate -s 1G scratch || return 1
	fio --name=t --read_iolog=t.iolog --replay_redirect="$work/scratch" --replay_no_stall=1 \
		--output-format=terse --terse-version=3 >fio.out || return 1
	[ "$(cut -d';' -f6,47 fio.out)" = "$(issued_kib read);$(issued_kib write)" ] && return
	head -n 20 t.iolog fio.out
	return 1
}

sql_queries() {
	exits 0 sql t.zr "SELECT kind, count(*) AS n FROM events GROUP BY kind" && grep -qE '^OUT +8000' out &&
		json sql t.zr --json "SELECT slot, len, cgroup FROM events WHERE kind = 'OUT' LIMIT 3" &&
		[ "$(grep -c '"slot"' out)" -eq 3 ] &&
		exits 0 sql t.zr --csv "SELECT 'a,b' AS x, 'c\"d' AS y, NULL AS z" && [ "$(sed -n 2p out)" = '"a,b","c""d",' ] &&
		complains 4 'only queries' sql t.zr 'DELETE FROM env' && complains 4 'only queries' sql t.zr 'PRAGMA user_version = 9' &&
		complains 2 'SQL: ' sql t.zr 'SELEKT 1' && complains 2 'exclude' sql t.zr --json --csv 'SELECT 1'
}

sql_reads_statements() {
	printf '.tables\n.schema chunk\n.schema events\nSELECT count(*)\n FROM events WHERE kind\n = '"'OUT'"';\nSELECT 1 + 1 AS two' |
		"$zreel" sql t.zr >out 2>err || return 1
	grep -q '^events' out && grep -q '^CREATE TABLE chunk (' out && ! grep -q 'CREATE TABLE env' out &&
		grep -q '^ *time_ns INTEGER' out && grep -qx '8000' <(tr -d ' ' <out) && grep -q two out || return 1
	printf 'SELECT 1;\nSELEKT;\nSELECT 777;\n' | "$zreel" sql t.zr >out 2>err
	[ $? -eq 2 ] && ! grep -q 777 out
}

# What the extension says in a program that knows nothing of zreel, next to zreel's own answer.
query="SELECT kind, count(*), sum(slot) FROM events WHERE time_ns < 15000000000 AND area = 1 GROUP BY kind ORDER BY kind"

needs() {
	command -v "$1" >/dev/null && return
	[ -z "${CI:-}" ] || { echo "$1 is not installed: .ci/setup test does that"; return 1; }
	skip "$1 is not installed"
}

sqlite3_loads_the_extension() {
	needs sqlite3 || return
	exits 0 sql t.zr --csv "$query" && sed 1d out >own.csv && [ -s own.csv ] &&
		sqlite3 -readonly -csv t.zr ".load $extension" "$query" | tr -d '\r' >theirs.csv && cmp own.csv theirs.csv
}

python_loads_the_extension() {
	needs python3 || return
	local python
	# One of those that are there must be able to.
	for python in python3 /usr/bin/python3 none; do
		"$python" -c 'import sqlite3; sqlite3.Connection.enable_load_extension' 2>/dev/null && break
	done
	[ $python != none ] || needs 'a python3 with loadable extensions' || return
	exits 0 sql t.zr --csv "$query" && sed 1d out >own.csv && [ -s own.csv ] || return 1
	"$python" - "$extension" "$query" >theirs.csv <<-'END' && cmp own.csv theirs.csv
		import sqlite3, sys
		db = sqlite3.connect("file:t.zr?mode=ro", uri=True)
		db.enable_load_extension(True)
		db.load_extension(sys.argv[1])
		for row in db.execute(sys.argv[2]):
		    print(",".join(map(str, row)))
	END
}

# Texts that attack a screen, SQL or a table, at every place of a trace where a stranger can put one: cgroups, the
# environment, areas and tasks. Programs get them as they are; nobody's screen does.
hostile_names_are_made() {
	needs python3 || return
	cp t.zr evil.zr && python3 - <<-'END'
		import sqlite3
		db = sqlite3.connect("evil.zr")
		a = "/\u4e16\u84ee.slice'); DROP TABLE run;--\x1b[31m,\"q\"\n\u202e%s"
		b = "/" + "x" * 300 + "\x1b]0;t\x07"
		open("name", "w").write(a)
		db.execute("UPDATE memcg SET path = ? WHERE id = 1", (a,))
		db.execute("UPDATE memcg SET path = ? WHERE id = 2", (b,))
		db.execute("UPDATE area SET path = ?", ("/dev/" + a,))
		db.execute("UPDATE task SET comm = ?", (a,))
		db.execute("INSERT OR REPLACE INTO env(host, key, value) VALUES (0, ?, ?)", (a, b + "\nFAKE = 1"))
		db.execute("INSERT OR REPLACE INTO env(host, key, value) VALUES (0, 'hostname', ?)", (a,))
		db.commit()
	END
}

# No byte that moves a cursor, and no line that a name began.
is_harmless() {
	! LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80\xae' "$1" && ! grep -qE '^(FAKE|%s)' "$1" && return
	echo "$1 of $2:"
	cat -v "$1"
	return 1
}

hostile_names_stay_harmless() {
	[ -e evil.zr ] || skip "evil.zr was not made" || return
	local name command
	name=$(cat name)
	for command in "info evil.zr" "verify evil.zr" "dump evil.zr" "dump evil.zr -f csv" "dump evil.zr -f json" \
		"dump evil.zr -f ftrace" "merge evil.zr -o em.zr" "cut evil.zr -o ec.zr --to 5s" "info ec.zr" "info em.zr"; do
		# shellcheck disable=SC2086
		exits 0 $command && is_harmless out "$command" && is_harmless err "$command" || return 1
	done
	grep -q 世蓮 out && exits 0 sql evil.zr 'SELECT * FROM memcg, area, task, env' && is_harmless out sql && grep -q 世蓮 out &&
		complains 3 'no cgroup' cut evil.zr -o no.zr --cgroup "$name/none" && is_harmless err cut &&
		json info evil.zr --json && is_harmless out 'info --json'
}

# The same name through each way that a program reads.
hostile_names_come_through() {
	[ -e evil.zr ] || skip "evil.zr was not made" || return
	local name file
	name=$(cat name)
	exits 0 cut evil.zr -o ec1.zr --cgroup "$name" && exits 0 merge --force evil.zr ec1.zr -o em1.zr || return 1
	for file in evil.zr ec1.zr em1.zr; do
		json sql "$file" --json "SELECT path AS x FROM memcg WHERE id = 1" && cp out x.json &&
			exits 0 sql "$file" --csv "SELECT path AS x FROM memcg WHERE id = 1" && cp out x.csv &&
			json info "$file" --json && python3 - <<-'END' || return 1
				import csv, json
				name = open("name", newline="").read()
				assert {row["x"] for row in json.load(open("x.json"))} == {name}
				assert {row["x"] for row in csv.DictReader(open("x.csv", newline=""))} == {name}
				host = json.load(open("out"))["hosts"][0]
				assert name in host["cgroups"] and host["swap_areas"][0]["path"] == "/dev/" + name
				assert host["environment"][name].endswith("\nFAKE = 1") and host["environment"]["hostname"] == name
			END
	done
	exits 0 dump evil.zr -f csv --cgroup "$name" && cp out by_name && exits 0 dump ec1.zr -f csv && cmp out by_name &&
		[ "$(wc -l <out)" -gt 4000 ]
}

# Comments of the text carry the environment: none of it may be taken for a line of its own.
hostile_ftrace_comes_back() {
	[ -e evil.zr ] || skip "evil.zr was not made" || return
	exits 0 dump evil.zr -f ftrace -o evil.ftrace && exits 0 import evil.ftrace -o evil2.zr &&
		exits 0 dump evil.zr -f csv && cp out wanted.csv && exits 0 dump evil2.zr -f csv && cmp out wanted.csv
}

csv_on_a_terminal_is_harmless() {
	[ -e evil.zr ] || skip "evil.zr was not made" || return
	python3 - "$zreel" >/dev/null <<-'END' && is_harmless seen 'sql --csv'
		import os, pty, sys
		seen = []
		def keep(fd):
		    seen.append(os.read(fd, 4096))
		    return seen[-1]
		def run():
		    try:
		        return pty.spawn([sys.argv[1], "sql", "evil.zr", "--csv", "SELECT path FROM memcg"], keep, lambda fd: b"")
		    except OSError:
		        return 0
		assert run() == 0
		text = b"".join(seen).replace(b"\r\n", b"\n")
		assert "\u4e16\u84ee".encode() in text
		open("seen", "wb").write(text)
	END
}

# Three pages of zeros, which have no length, beside one that was stored.
zero_filled_pages_are_everywhere() {
	local slot
	{
		echo '# tracer: nop'
		for slot in 1 2 3; do
			echo "  w-7 [000] ..... 1.00000$slot: out: (0) swp=0x$slot flags=0x0 flags1=0x0 memcg=0x1"
			echo "  w-7 [000] ..... 1.00000$slot: out_ret: (0) ret=0"
		done
		echo '  w-7 [000] ..... 1.000009: store: (0) swp=0x9 flags=0x0 flags1=0x0 memcg=0x1'
		echo '  w-7 [000] ..... 1.000009: len: (0) len=700'
		echo '  w-7 [000] ..... 1.000009: store_ret: (0) ret=1'
	} >zeros.txt
	exits 0 import zeros.txt -o z1.zr && exits 0 cut z1.zr -o z2.zr --slots 1-9 && exits 0 merge z2.zr -o z3.zr &&
		exits 0 dump z3.zr -f ftrace -o z.ftrace && exits 0 import z.ftrace -o z4.zr || return 1
	for file in z1.zr z2.zr z3.zr z4.zr; do
		json info "$file" --json && [ "$(figure OUT)" -eq 4 ] && [ "$(figure zero)" -eq 3 ] && [ "$(figure stored)" -eq 1 ] &&
			exits 0 dump "$file" -f csv && [ "$(grep -c ',OUT,.*,0,[0-9]*,zero$' out)" -eq 3 ] &&
			exits 0 sql "$file" --csv "SELECT count(*), sum(len) FROM events WHERE kind = 'OUT' AND outcome = 'zero'" &&
			[ "$(sed -n 2p out)" = 3,0 ] && exits 0 dump "$file" -f oracle -o "$file.oracle" &&
			[ "$(stat -c %s "$file.oracle")" -eq 96 ] || return 1
	done
}

sql_leaves_the_file_alone() {
	cksum t.zr >before
	exits 0 sql t.zr 'SELECT count(*) FROM events' && cksum t.zr | cmp - before
}

outputs_are_never_overwritten() {
	echo precious >keep.zr
	for command in "cut t.zr" "merge t.zr" "verify t.zr --repair" "dump t.zr -f csv" "dump t.zr -f ftrace"; do
		# shellcheck disable=SC2086
		complains 3 'there already' $command -o keep.zr && grep -qx precious keep.zr || return 1
	done
	complains 3 'there already' cut t.zr -o t.zr && exits 0 verify t.zr
}

failed_outputs_are_removed() {
	complains 3 'no event is in' cut t.zr -o gone.zr --to 1s --slots 9999999-9999999 && complains 3 'missing.zr' merge t.zr \
		missing.zr -o gone.zr && complains 3 'no request' dump t.zr -f fio -o gone.log || return 1
	[ -z "$(ls -d gone* 2>/dev/null)" ]
}

interrupted_outputs_are_removed() {
	local files=() status=0
	for _ in $(seq 300); do files+=(t.zr t2.zr); done
	"$zreel" merge --force "${files[@]}" -o stopped.zr >out 2>err </dev/null &
	local pid=$!
	while [ ! -e stopped.zr ] && kill -0 $pid 2>/dev/null; do :; done
	kill -INT $pid
	wait $pid || status=$?
	[ $status -eq 1 ] && grep -q 'interrupted.* is removed' err && [ -z "$(ls -d stopped* 2>/dev/null)" ] && return
	cat err
	return 1
}

a_full_disk_is_told() {
	[ -e "$shipped" ] || skip "$shipped is not there" || return
	local status=0
	( ulimit -f 400; trap '' XFSZ; "$zreel" merge "$shipped" -o large.zr >out 2>err ) || status=$?
	[ $status -eq 1 ] && grep -q 'is removed' err && [ -z "$(ls -d large* 2>/dev/null)" ] && return
	cat err
	return 1
}

# Millions of events in less address space than their 24 bytes each would take.
tools_stream() {
	[ -e "$shipped" ] || skip "$shipped is not there" || return
	exits 0 merge --force "$shipped" "$shipped" "$shipped" "$shipped" "$shipped" -o big.zr && exits 0 info big.zr --json &&
		[ "$(figure OUT)" -gt 1000000 ] || return 1
	(
		# The first host has a fifth of it.
		ulimit -v 80000
		exits 0 info big.zr && exits 0 verify big.zr && exits 0 dump big.zr -f csv -k WB && exits 0 cut big.zr -o bc.zr --cgroup /job &&
			exits 0 merge --force big.zr "$shipped" -o bm.zr && exits 0 merge --same-host --force "$shipped" "$shipped" -o bw.zr &&
			exits 0 dump big.zr --host 0 -f ftrace -o big.ftrace && exits 0 dump big.zr --host 0 -f oracle -o big.oracle &&
			exits 0 sql big.zr "SELECT kind, count(*) FROM events GROUP BY kind" && exits 0 import big.ftrace -o bi.zr &&
			exits 3 verify short.zr --repair -o br.zr
	)
	local status=$?
	rm -f big.* b?.zr
	return $status
}

wrong_usage_is_2() {
	complains 2 '\-o FILE' cut t.zr && complains 2 '\-o FILE' merge t.zr && complains 2 '\-o FILE' verify t.zr --repair &&
		complains 2 'for --repair' verify t.zr -o x.zr && complains 2 'takes a time' cut t.zr -o x.zr --from soon &&
		complains 2 'takes a time' cut t.zr -o x.zr --from @12x && complains 2 'later than' cut t.zr -o x.zr --from 2 --to 1 &&
		complains 2 'range such as' cut t.zr -o x.zr --slots 9-3 && complains 2 'from 0 to 255' cut t.zr -o x.zr --area 256 &&
		complains 3 'no swap area 9' cut t.zr -o x.zr --area 9 && complains 3 'no cgroup /x' cut t.zr -o x.zr --cgroup /x &&
		complains 3 'no host 4' cut t.zr -o x.zr --host 4 && complains 2 'takes text' dump t.zr -f xml && [ ! -e x.zr ]
}

claim a_trace_is_made make_trace
claim tools_have_help_with_an_example every_command_has_help
claim cut_keeps_the_gap_in_its_time cut_keeps_the_gap
claim cut_takes_what_dump_shows cut_and_dump_select_the_same
claim cuts_by_area_merge_to_the_whole parts_merge_to_the_whole
claim times_are_rounded_when_asked_to times_are_rounded
claim hosts_merge_and_are_cut_again hosts_merge
claim a_folder_of_traces_is_summed folder_is_summed
claim verify_finds_damage_and_saves_the_rest verify_finds_damage
claim verify_saves_what_a_short_file_has verify_opens_what_was_cut_short
claim ftrace_text_comes_back_unchanged ftrace_comes_back
claim oracle_records_are_read_by_others oracle_is_read_by_others
claim fio_replays_the_requests fio_replays
claim sql_prints_tables_json_and_csv sql_queries
claim sql_reads_statements_from_standard_input sql_reads_statements
claim sqlite3_loads_the_extension sqlite3_loads_the_extension
claim python_loads_the_extension python_loads_the_extension
claim zero_filled_pages_are_in_every_output zero_filled_pages_are_everywhere
claim hostile_names_can_stand_in_a_trace hostile_names_are_made
claim hostile_names_are_harmless_on_a_screen hostile_names_stay_harmless
claim hostile_names_come_through_unchanged hostile_names_come_through
claim hostile_ftrace_text_comes_back hostile_ftrace_comes_back
claim csv_on_a_terminal_is_harmless csv_on_a_terminal_is_harmless
claim sql_leaves_the_file_alone sql_leaves_the_file_alone
claim outputs_are_never_overwritten outputs_are_never_overwritten
claim failed_outputs_are_removed failed_outputs_are_removed
claim interrupted_outputs_are_removed interrupted_outputs_are_removed
claim a_full_disk_removes_the_output a_full_disk_is_told
claim tools_stream_in_little_memory tools_stream
claim wrong_usage_of_tools_has_status_2 wrong_usage_is_2
exit $bad
