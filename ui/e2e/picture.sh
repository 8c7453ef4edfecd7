#!/usr/bin/env bash
# The picture at the head of README.md: it is well-formed, needs nothing else, and the tool still writes such a one.
# Its bytes are not held against new ones: `make picture` renews it when the dashboard or the model has changed.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

here=$(realpath "$(dirname "$0")")
top=$(realpath "$here/../..")
build=$(realpath "${BUILD:-build}")
zreel=$build/zreel
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# shellcheck source=ui/e2e/claims
. "$here/claims"

# Columns of 8 and rows of 16 units with a margin; texts of all three lanes; nothing that runs or is fetched.
is_a_picture() {
	python3 - "$1" <<-'EOF'
		import sys, xml.etree.ElementTree as ET
		root = ET.parse(sys.argv[1]).getroot()
		name = lambda e: e.tag.split("}")[1]
		assert name(root) == "svg"
		left, top, width, height = map(float, root.get("viewBox").split())
		assert width >= 120 * 8 and height >= 40 * 16
		words = " ".join("".join(e.itertext()) for e in root if name(e) == "text")
		for word in "compile.zr", "unbatched", "batched", "plugged":
		    assert word in words, word
		for e in root.iter():
		    assert name(e) in {"svg", "g", "rect", "text", "tspan", "path", "title", "desc"}, e.tag
		    assert not any("href" in k or k.startswith("on") for k in e.attrib)
	EOF
}

is_shown() {
	grep -qF '](ui/picture.svg)' "$top/README.md"
}

is_written() {
	exits 0 ui --help && grep -q 'svg' out || {
		skip "this zreel does not write screens as SVG"
		return
	}
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top" BUILD="$build" PICTURE="$work/new.svg" picture &&
		is_a_picture new.svg
}

claim the_shipped_picture_is_one is_a_picture "$top/ui/picture.svg"
claim the_readme_shows_it is_shown
claim the_tool_writes_such_a_picture is_written
exit $bad
