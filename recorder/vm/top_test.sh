#!/usr/bin/env bash
# top_test.sh [KERNEL] - `zreel top` on a real kernel that swaps: the dashboard on its own host, which leaves nothing.
#
# One boot, whose half is guest-top. Prints cmocka's lines, so that .ci/run-tests counts the claims.
# shellcheck disable=SC2317 # functions are called through claim
set -euo pipefail
cd "$(dirname "$0")/../.."
. recorder/vm/claims

build=${BUILD:-build}
kernel=${1:-6.12}
here=$build/vm/top-$kernel
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$here"
mkdir -p "$here" "$work/terminfo/x"
infocmp xterm >"$work/xterm.ti"
tic -o "$work/terminfo" "$work/xterm.ti"
"${CC:-cc}" -std=gnu2x -O2 -static -o "$work/touch" recorder/vm/touch.c

shows()
{
	grep -aq -- "$1" "$here/screen"
}

status=0
recorder/vm/run --retry -k "$kernel" -m 1024 --disk 512M --share "$here" --timeout 600 --add "$build/zreel" \
	--add "$work/touch:/bin/random-touch" --add "$(command -v script)" --add "$(command -v stty):/bin/stty" \
	--add "$work/terminfo:/terminfo" --add recorder/vm/claims --add recorder/vm/guest-top -- guest-top \
	2>"$here/err" || status=$?
claim guest_ends_well test $status -eq 0
if [[ $status -ne 0 ]]; then
	sed 's/^/  /' "$here/err"
	exit 1
fi
claim top_shows_the_running_host shows 'this host'
claim top_follows_as_it_happens shows 'live'
claim top_races_the_policies_that_were_named shows 'linux-7.3'
claim top_ends_on_q_with_success test "$(cat "$here/status")" = 0
claim top_gives_the_terminal_back shows $'\e\[?1049l'
claim top_leaves_no_file_and_no_probe test ! -s "$here/left"
exit $failed
