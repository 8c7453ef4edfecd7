#!/usr/bin/env bash
# The real dashboard in a real terminal (tmux): keys, sizes, and every way out, after which the terminal is as
# it was. Takes the program from $BUILD/zreel; $1 is a trace to use, else one is made. Waits are bounded polls
# of the screen, never sleeps. Reports as cmocka does, for .ci/run-tests.
set -uo pipefail

zreel=$(realpath "${BUILD:-build}/zreel")
export LC_ALL=C.UTF-8
unset NO_COLOR TMUX
work=$(mktemp -d)
socket=$work/tmux
given=${1:+$(realpath "$1")}
# An imported trace does not say how much memory its machine had, so policies name their pool.
lanes='-p unbatched+pool=1M -p batched+pool=1M -p plugged+pool=1M'
t() { tmux -S "$socket" "$@"; }
trap 't kill-server 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1

if ! command -v tmux >/dev/null; then
	echo "[ RUN      ] the_dashboard_in_tmux"
	echo "[  SKIPPED ] the_dashboard_in_tmux"
	echo "skipped: tmux is not installed"
	exit 0
fi

bad=0
claim() {
	local name=$1
	shift
	echo "[ RUN      ] $name"
	if "$@"; then
		echo "[       OK ] $name"
	else
		t capture-pane -p
		echo "[  FAILED  ] $name"
		bad=1
	fi
}

# Polls until the command succeeds; gives up after twenty seconds. Every look is a round trip to tmux.
until_true() {
	local end=$((SECONDS + 20))
	while [ "$SECONDS" -lt "$end" ]; do
		"$@" && return 0
		t display-message -p '' >/dev/null
	done
	echo "waited in vain for: $*"
	return 1
}

on_screen() { t capture-pane -p | grep -qF -- "$1"; }
matches() { t capture-pane -p | grep -qE -- "$1"; }
sees() { until_true on_screen "$1"; }
value() { t display-message -p "#{$1}"; }
has_value() { [ "$(value "$1")" = "$2" ]; }
size_is() { [ "$(t display-message -p '#{pane_width}x#{pane_height}')" = "$1" ]; }

make_trace() {
	if [ -n "$given" ]; then
		cp "$given" t.zr
		return
	fi
	awk 'BEGIN {
		for (i = 0; i < 6000; i++) {
			line("store", sprintf("swp=0x%x flags=0x0 flags1=0x0 memcg=0xffff888001000000", 64 + i))
			line("len", "len=" 500 + i * 37 % 2000)
			line("store_ret", "ret=1")
			if (i % 3 == 0 && i > 300) {
				line("load", sprintf("swp=0x%x", 64 + i - 300))
				line("load_ret", "ret=1")
			}
		}
	}
	function line(event, fields) {
		t += 500
		printf "  worker-77      [000] .....  %d.%06d: %s: (0x0) %s\n", 10 + t / 1000000, t % 1000000, event, fields
	}' >capture.txt && "$zreel" import capture.txt -o t.zr >/dev/null
}

# A shell whose prompt is recognised; the terminal's settings are kept before the first run.
start_shell() {
	t -f /dev/null new-session -d -x 80 -y 24 "env PS1='ready> ' bash --norc --noprofile"
	t set-option -g window-size manual >/dev/null
	sees 'ready>' || return 1
	t send-keys 'stty -g >before; clear' Enter
	until_true test -s before && sees 'ready>'
}

run=0
# Starts the dashboard; its status will be printed as `run N ended: STATUS`.
start_dashboard() {
	run=$((run + 1))
	t send-keys "clear; $1 '$zreel' ui t.zr $lanes; echo run $run ended: \$?; stty -g >after" Enter
	[ "${2:-}" = broken ] || sees ' zreel  t.zr'
}

# The dashboard has ended with the status, and nothing of it is left on the terminal.
ended_with() {
	sees "run $run ended: $1" && until_true has_value alternate_on 0 && until_true has_value cursor_flag 1 &&
		until_true cmp -s before after && rm -f after && ! on_screen ' zreel  t.zr'
}

pid_of() { pgrep -n -P "$(value pane_pid)" -x zreel; }

shows_all_panels() {
	start_dashboard "" && has_value alternate_on 1 && sees '1 unbatched' && sees '3 plugged' &&
		sees 'pages/request' && sees 'slots of 1' && sees 'disk refault/s' && sees 'q quit' &&
		t send-keys v && sees 'why requests of 1 are short' && t send-keys v && sees 'entries by age' &&
		t send-keys v && sees 'swap-outs/s' && t send-keys v && sees 'slots of 1'
}

keys_act() {
	t send-keys '?' && sees '10% back, on' && t send-keys x && t send-keys ' ' && sees paused &&
		t send-keys Tab && sees 'slots of 2' && t send-keys 3 && sees 'slots of 3' &&
		t send-keys Home && sees '0:00.000 /' && t send-keys . && sees 'event 1 ' &&
		t send-keys Right && until_true matches 'event [0-9,]{2,}' &&
		t send-keys S-Right && t send-keys End && t send-keys + && sees paused
}

what_if_acts() {
	t send-keys a 'batched+pool=2M' Enter && sees '4 batched+pool=2M' && t send-keys 4 && sees 'slots of 4' &&
		t send-keys e '+walk=7' Enter && sees '4 batched+pool=2M+walk' && t send-keys x &&
		until_true eval '! on_screen "4 batched"' && t send-keys 3 && sees 'slots of 3'
}

# A click as an xterm reports it, with the tmux that passes it on: row 23 is the timeline.
mouse_acts() {
	t send-keys Home && sees '0:00.000 /' && t send-keys -l "$(printf '\033[M \110\067')" &&
		until_true eval '! on_screen "0:00.000 /"' && t send-keys Home && sees '0:00.000 /'
}

map_acts() {
	t send-keys f && sees 'enter events' && t send-keys Right Right + + + + + + + + + && sees '1 a spot' &&
		t send-keys Enter && sees 'events of slot' && t send-keys Escape && sees 'enter events' &&
		t send-keys Escape && sees 'a add'
}

# While paused the program sleeps: a hundred polls of the screen cost it no tick of CPU.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
a_pause_takes_no_cpu() {
	local pid before
	pid=$(pid_of)
	before=$(ticks "$pid")
	for _ in $(seq 100); do on_screen paused || return 1; done
	[ "$(ticks "$pid")" -eq "$before" ]
}

resizes() {
	t resize-window -x 20 -y 5 && sees '20x5 is too small' &&
		t resize-window -x 200 -y 60 && until_true size_is 200x60 && until_true matches 'event [0-9,]+ of [0-9,]+' && sees 'q quit' &&
		t resize-window -x 80 -y 24 && sees 'slots of 3' && sees 'q quit'
}

q_quits() { t send-keys q && ended_with 0; }

signal_ends() {
	start_dashboard "" && kill "-$1" "$(pid_of)" && ended_with 0
}

interrupt_ends() { start_dashboard "" && t send-keys C-c && ended_with 0; }

stops_and_comes_back() {
	start_dashboard "" && t send-keys ' ' && sees paused && t send-keys C-z && sees Stopped &&
		until_true has_value alternate_on 0 && until_true has_value cursor_flag 1 &&
		t send-keys fg Enter && until_true has_value alternate_on 1 && sees 'slots of 1' && sees paused &&
		t send-keys q && until_true has_value alternate_on 0 && sees "run $run ended: "
}

unknown_terminals_are_refused() {
	start_dashboard TERM=nosuch broken && sees "run $run ended: 4" && on_screen 'TERM=nosuch' || return 1
	start_dashboard TERM=dumb broken && sees "run $run ended: 4" && on_screen 'TERM=dumb'
}

works_without_colours() {
	start_dashboard NO_COLOR=1 && sees 'free' && ! t capture-pane -p -e | grep -q "$(printf '\033')\[[0-9;]*3[1-7]m" &&
		q_quits
}

works_in_ascii() {
	start_dashboard LC_ALL=C && sees 'q quit' && ! t capture-pane -p | grep -q '[^ -~]' && q_quits
}

# Enough repetitions that the replay is still on when it is left.
start_live() {
	local more=$1
	lanes_before=$lanes
	lanes="$lanes --on device target.img --no-cpu --reps 100000 --runs live.zr"
	rm -f live.zr
	start_dashboard "$more"
	local ok=$?
	lanes=$lanes_before
	[ $ok -eq 0 ] && sees 'live on target.img'
}

partial_runs_are_stored() {
	[ ! -e target.img ] && "$zreel" compare live.zr --json >live.json && grep -q '"target": *"device"' live.json
}

live_acts() {
	start_live "" || return 1
	until_true matches 'runs [0-9]+%|[1-9][0-9]* of 100000 done' && t send-keys w && sees 'not while it is being done' &&
		t send-keys 2 && t send-keys '?' && sees 'm: measured' && t send-keys x &&
		t resize-window -x 120 -y 40 && sees 'refault latency' && t resize-window -x 80 -y 24 &&
		t send-keys q && ended_with 0 && on_screen 'stopped early' && partial_runs_are_stored
}

live_is_interrupted() {
	start_live "" && t send-keys C-c && ended_with 0 && on_screen 'stopped early' && [ ! -e target.img ]
}

claim a_trace_is_there make_trace
claim a_shell_is_ready start_shell
claim all_panels_are_shown_in_80x24 shows_all_panels
claim keys_act keys_act
claim lanes_are_added_edited_and_removed what_if_acts
claim the_map_is_walked_on map_acts
claim a_click_on_the_timeline_goes_there mouse_acts
claim a_pause_takes_no_cpu a_pause_takes_no_cpu
claim sizes_from_20x5_to_200x60_draw resizes
claim q_restores_the_terminal q_quits
claim a_live_replay_is_shown_and_q_ends_it live_acts
claim ctrl_c_ends_a_live_replay_and_restores_the_terminal live_is_interrupted
claim sigterm_restores_the_terminal signal_ends TERM
claim sigint_restores_the_terminal signal_ends INT
claim sighup_restores_the_terminal signal_ends HUP
claim ctrl_c_restores_the_terminal interrupt_ends
claim ctrl_z_restores_the_terminal_and_fg_draws_again stops_and_comes_back
claim terminals_that_cannot_are_refused_with_status_4 unknown_terminals_are_refused
claim no_color_is_honoured works_without_colours
claim the_c_locale_gets_ascii works_in_ascii
exit $bad
