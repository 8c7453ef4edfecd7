#!/usr/bin/env bash
# make install, as a package would do it: programs run, pages are found and true, shells complete, and make uninstall
# takes away what came. Bash's completion is tested by typing into a real bash; zsh and fish where they are installed.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

here=$(realpath "$(dirname "$0")")
top=$(realpath "$here/../..")
build=$(realpath "${BUILD:-build}")
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dest=$work/dest
share=$dest/opt/zr/share
zreel=$dest/opt/zr/bin/zreel
cd "$work" || exit 1

# shellcheck source=ui/e2e/claims
. "$here/claims"

mak() {
	# What the calling make was told is not for this one.
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top" BUILD="$build" DESTDIR="$dest" PREFIX=/opt/zr "$@"
}

installs() {
	mkdir -p "$share/man/man1" && echo other >"$share/man/man1/other.1"
	mak install && [ -x "$zreel" ] && [ -x "$dest/opt/zr/bin/zreel-record" ]
}

runs() {
	exits 0 --version && exits 0 replay "$top/traces/touch.zr" -p batched --runs runs.zr && exits 0 compare runs.zr &&
		"$dest/opt/zr/bin/zreel-record" --help >out && grep -q 'zreel-record' out
}

loads_the_extension() {
	command -v sqlite3 >/dev/null || {
		skip "no sqlite3 here"
		return
	}
	sqlite3 -cmd ".load $dest/opt/zr/lib/zreel/zreel_events" "$top/traces/touch.zr" \
		"SELECT count(*) > 0 FROM events WHERE kind = 'OUT'" >out && grep -qx 1 out
}

commands() {
	"$zreel" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# Every command has a page, and every option of its help stands in it by its long name or its letter; options that
# choose a part of a trace are explained once, with `cut`.
pages_are_true() {
	local command letter option page n=0
	for command in $(commands); do
		page=$share/man/man1/zreel-$command.1
		[ -s "$page" ] || {
			echo "no page for $command"
			return 1
		}
		while IFS=' ' read -r letter option; do
			explains "$page" "$letter" "$option" ||
				{ grep -q '^\.Cm cut$' "$page" && explains "$share/man/man1/zreel-cut.1" "$letter" "$option"; } || {
				echo "$page does not have --$option"
				n=$((n + 1))
			}
		done < <("$zreel" "$command" --help | sed -nE 's/^  (-([a-z]),|   ) --([a-z-]+)[ [].*/\2- \3/p')
	done
	[ "$n" -eq 0 ]
}

# What every command has, and what says all by its name, is explained in zreel(1).
explains() {
	[ "$3" = help ] || [ "$3" = json ] || grep -qE "Fl Fl ([a-z]+ \| )?$3\b" "$1" ||
		{ [ "$2" != - ] && grep -qE "Fl ${2%-}\b" "$1"; }
}

man_finds_the_pages() {
	command -v man >/dev/null || {
		skip "no man here"
		return
	}
	local page
	for page in zreel zreel-replay zreel-report zreel-trace; do
		MANWIDTH=80 man -M "$share/man" "$page" >out 2>err && [ "$(wc -l <out)" -gt 20 ] || {
			skip "man shows no pages here: $(head -n 1 err)"
			return
		}
	done
	MANWIDTH=80 man -M "$share/man" zreel-replay >out 2>err &&
		grep -q 'run a trace under other policies' out && grep -q 'zreel replay FILE' out && grep -q -e '--yes-destroy' out &&
		grep -q 'zreel replay compile.zr -p unbatched' out
}

pages_have_no_faults() {
	command -v mandoc >/dev/null || {
		skip "no mandoc here"
		return
	}
	mandoc -Tlint -Werror "$share"/man/man?/zreel*
}

# becomes SHELL SCRIPT LINE WORDS: the line, with Tab pressed at its end
becomes() {
	local shell=$1 script=$2 line=$3 wanted=$4 got
	got=$(PATH=$dest/opt/zr/bin:$PATH python3 "$here/typed.py" "$shell" "$script" "$work/typing" "$line") || {
		echo "$got"
		return 1
	}
	[ "$got" = "$wanted" ] || {
		echo "$shell: '$line' became $got instead of $wanted"
		return 1
	}
}

completes() {
	local shell=$1 script=$2
	command -v "$shell" >/dev/null || {
		skip "no $shell here"
		return
	}
	mkdir -p typing && touch 'typing/compile.zr' 'typing/a file.zr' || return 1
	becomes "$shell" "$script" 'zreel repo' '[zreel][report]' &&
		becomes "$shell" "$script" 'zreel help swe' '[zreel][help][sweep]' &&
		becomes "$shell" "$script" 'zreel replay --dri' '[zreel][replay][--drive]' &&
		becomes "$shell" "$script" 'zreel replay --drive=wr' '[zreel][replay][--drive=writebacks]' &&
		becomes "$shell" "$script" 'zreel replay -p hys' '[zreel][replay][-p][hysteresis]' &&
		becomes "$shell" "$script" 'zreel replay -p batched+shrinker=rec' '[zreel][replay][-p][batched+shrinker=recorded]' &&
		becomes "$shell" "$script" 'zreel ui x.zr --policy=batched+plu' '[zreel][ui][x.zr][--policy=batched+plug=]' &&
		becomes "$shell" "$script" 'zreel dump -k OUT,WOR' '[zreel][dump][-k][OUT,WORKER]' &&
		becomes "$shell" "$script" 'zreel sweep -m write_p' '[zreel][sweep][-m][write_pages]' &&
		becomes "$shell" "$script" 'zreel info comp' '[zreel][info][compile.zr]' &&
		becomes "$shell" "$script" 'zreel info a' '[zreel][info][a file.zr]' &&
		becomes "$shell" "$script" 'zreel compare --runs=x comp' '[zreel][compare][--runs=x][compile.zr]'
}

completes_in_bash() {
	completes bash "$share/bash-completion/completions/zreel" &&
		becomes bash "$share/bash-completion/completions/zreel" "zreel sweep -g 'pool=1,2;bat" '[zreel][sweep][-g][pool=1,2;batch=]'
}

completes_in_fish() {
	command -v fish >/dev/null || {
		skip "no fish here"
		return
	}
	mkdir -p typing && touch typing/compile.zr
	fish_says 'zreel repo' report && fish_says 'zreel replay -p batched+plug=of' 'batched+plug=off' &&
		fish_says 'zreel replay --dri' --drive && fish_says 'zreel info comp' compile.zr &&
		fish_says 'zreel dump --format=ora' '--format=oracle'
}

# fish_says LINE WORD: the only answer
fish_says() {
	(cd typing && HOME=$work PATH=$dest/opt/zr/bin:$PATH fish --no-config \
		-c "source $share/fish/vendor_completions.d/zreel.fish; complete -C '$1'") | cut -f 1 >out
	[ "$(cat out)" = "$2" ] || {
		echo "fish: '$1' gave:"
		cat out
		return 1
	}
}

uninstalls() {
	mak uninstall && [ "$(find "$dest" -type f)" = "$share/man/man1/other.1" ]
}

claim it_installs_below_destdir installs
claim what_is_installed_runs runs
claim the_extension_loads_into_sqlite3 loads_the_extension
claim every_command_has_a_page_with_its_options pages_are_true
claim man_finds_the_pages man_finds_the_pages
claim pages_have_no_faults pages_have_no_faults
claim bash_completes completes_in_bash
claim zsh_completes completes zsh "$share/zsh/site-functions/_zreel"
claim fish_completes completes_in_fish
claim it_uninstalls_all_and_only_its_own uninstalls
exit $bad
