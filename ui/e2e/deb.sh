#!/usr/bin/env bash
# make deb: lintian has nothing to say, and the package installs on a Debian system that has nothing but its base,
# runs there, and goes again. The system is made with debootstrap, so this needs root and a mirror, and takes minutes:
# it runs with `make test-more`.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

here=$(realpath "$(dirname "$0")")
top=$(realpath "$here/../..")
build=$(realpath "${BUILD:-build}")
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
zreel=$build/zreel
cd "$work" || exit 1

# shellcheck source=ui/e2e/claims
. "$here/claims"

builds() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top" BUILD="$build" deb >name 2>deb.err && [ ! -s deb.err ] || {
		cat deb.err
		return 1
	}
	cp "$(tail -n 1 name)" zreel.deb && [ "$(dpkg-deb -f zreel.deb Package)" = zreel ]
}

builds_the_same() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top" BUILD="$build" deb >name && cmp "$(tail -n 1 name)" zreel.deb
}

# Its libraries, and no more than those that the programs are linked with.
depends_on_its_libraries() {
	local library
	for library in libsqlite3-0 libncursesw6 libzstd1 liburing2 libbpf1 libtracefs1 libc6; do
		dpkg-deb -f zreel.deb Depends | grep -q "\b$library (>=" || {
			echo "does not depend on $library"
			return 1
		}
	done
}

lintian_is_quiet() {
	command -v lintian >/dev/null || {
		skip "no lintian here"
		return
	}
	# It is no part of Debian, so nobody has asked for it there.
	[ -z "$(lintian --allow-root --suppress-tags initial-upload-closes-no-bugs zreel.deb 2>&1 | tee lintian.out)" ] || {
		cat lintian.out
		return 1
	}
}

makes_a_system() {
	[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null || {
		skip "no root or no debootstrap here"
		return
	}
	local mirror suite
	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $suite" | head -n 1)
	[ -n "$mirror" ] || {
		skip "apt knows no mirror of $suite"
		return
	}
	debootstrap --variant=minbase "$suite" "$root" "$mirror" >debootstrap.log 2>&1 || {
		tail -n 3 debootstrap.log
		return 1
	}
	rm -rf "$root/etc/apt/apt.conf.d" "$root"/etc/apt/sources.list*
	cp -a /etc/apt/. "$root/etc/apt/" && cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	rm -rf "$root/etc/apt/sources.list.d" && echo "deb $mirror $suite main" >"$root/etc/apt/sources.list"
}

inside() {
	DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"
}

installs() {
	[ -x "$root/usr/bin/dpkg" ] || {
		skip "no system to install on"
		return
	}
	cp zreel.deb "$top/traces/touch.zr" "$root/tmp/" && inside apt-get update -qq >apt.log 2>&1 &&
		inside apt-get install -y -qq --no-install-recommends /tmp/zreel.deb >>apt.log 2>&1 || {
		tail -n 5 apt.log
		return 1
	}
}

runs() {
	[ -x "$root/usr/bin/zreel" ] || {
		skip "it is not installed"
		return
	}
	inside zreel --version && inside zreel replay /tmp/touch.zr -p unbatched -p plugged --runs /tmp/runs.zr &&
		inside zreel compare /tmp/runs.zr --json >there.json && inside zreel report /tmp/touch.zr --runs /tmp/runs.zr -o - >there.html &&
		inside zreel ui /tmp/touch.zr -p batched --dump >there.txt && inside zreel-record --help >there.help || return 1
	# The same figures as here.
	"$zreel" report "$top/traces/touch.zr" -p unbatched -p plugged -o here.html && cmp here.html there.html
}

goes_again() {
	[ -x "$root/usr/bin/zreel" ] || {
		skip "it is not installed"
		return
	}
	inside dpkg --purge zreel >purge.log 2>&1 && [ -z "$(find "$root/usr" "$root/etc" -name '*zreel*')" ]
}

claim a_package_is_built builds
claim the_same_tree_gives_the_same_package builds_the_same
claim it_depends_on_its_libraries depends_on_its_libraries
claim lintian_has_nothing_to_say lintian_is_quiet
claim a_bare_system_is_made makes_a_system
claim it_installs_there installs
claim it_runs_there_as_here runs
claim it_goes_again_without_a_trace goes_again
exit $bad
