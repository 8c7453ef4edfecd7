#!/usr/bin/env bash
# What a real browser makes of a report: laid out on a screen, on a phone, in the dark and on paper. A copy of the
# page gets a script that measures it (the page itself has none). KEEP=DIR keeps the pictures, to be looked at.
# Needs Chromium (Debian: chromium-headless-shell), so it runs with `make test-more`.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

zreel=$(realpath "${BUILD:-build}/zreel")
here=$(realpath "$(dirname "$0")")
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
keep=${KEEP:+$(realpath "$KEEP")}
cp "$here/../../traces/touch.zr" "$work/touch.zr"
cd "$work" || exit 1

# shellcheck source=ui/e2e/claims
. "$here/claims"

browser=
for name in chromium-headless-shell chromium google-chrome; do
	browser=${browser:-$(command -v $name || true)}
done

browse() {
	[ -n "$browser" ] || {
		skip "no Chromium here"
		return
	}
	HOME=$work "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=2000 "$@" 2>browser.err
}

write_pages() {
	exits 0 report touch.zr -p unbatched -p plugged -p batched+pool=5% -o page.html || return 1
	python3 - <<-'EOF'
		script = """<script>
		const fg = c => { const m = c.match(/[0-9.]+/g).map(Number).slice(0, 3).map(v => v / 255)
			.map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * m[0] + 0.7152 * m[1] + 0.0722 * m[2]; };
		const contrast = (a, b) => { const x = fg(a), y = fg(b); return (Math.max(x, y) + .05) / (Math.min(x, y) + .05); };
		const bg = getComputedStyle(document.body).backgroundColor;
		const texts = [...document.querySelectorAll('p, td, th, li, h1, h2, figcaption, caption')].filter(e => e.textContent.trim());
		const lines = [...document.querySelectorAll('.l, .b')].map(e => { const s = getComputedStyle(e);
			return s.stroke !== 'none' ? s.stroke : s.fill; });
		const charts = [...document.querySelectorAll('svg.chart')].map(e => e.getBoundingClientRect());
		document.body.innerHTML = 'MEASURED ' + JSON.stringify({
			width: innerWidth, page: document.documentElement.scrollWidth, background: fg(bg),
			text: Math.min(...texts.map(e => contrast(getComputedStyle(e).color, bg))),
			line: Math.min(...lines.map(c => contrast(c, bg))),
			charts: charts.length, smallest: Math.min(...charts.map(r => Math.min(r.width, r.height)))}) + ' END';
		</script></body>"""
		page = open("page.html", encoding="utf-8").read()
		assert page.count("</body>") == 1
		# The script has < and &: the copy is HTML only.
		open("measured.html", "w", encoding="utf-8").write(page.replace("</body>", script))
	EOF
}

# measure WIDTH [OPTION]...: the page as JSON in measured.json
measure() {
	local width=$1 status=0
	shift
	browse --window-size="$width,2000" "$@" --dump-dom "file://$work/measured.html" >dom || status=$?
	[ $status -eq 0 ] || return $status
	grep -o 'MEASURED {.*} END' dom | sed 's/^MEASURED //; s/ END$//' >measured.json && [ -s measured.json ]
}

# holds EXPRESSION: in Python, over the measured figures
holds() {
	python3 -c 'import json, sys; m = json.load(open("measured.json")); sys.exit(not eval(sys.argv[1], m))' "$1" ||
		{
			echo "not so: $1"
			cat measured.json
			return 1
		}
}

fits() {
	measure "$1" || return
	holds "width == $1" && holds 'page <= width' && holds 'charts >= 10' && holds 'smallest >= 30'
}

is_light() {
	measure 1100 || return
	holds 'background > 0.9' && holds 'text >= 4.5' && holds 'line >= 3'
}

is_dark() {
	measure 1100 --blink-settings=preferredColorScheme=0 || return
	holds 'background < 0.05' && holds 'text >= 4.5' && holds 'line >= 3'
}

prints() {
	browse --no-pdf-header-footer --print-to-pdf="$work/page.pdf" "file://$work/page.html" || return
	head -c 5 page.pdf | grep -q '%PDF-' && [ "$(wc -c <page.pdf)" -gt 20000 ]
}

pictures() {
	browse --window-size=1100,9000 --screenshot="$keep/light.png" "file://$work/page.html" &&
		browse --window-size=1100,9000 --blink-settings=preferredColorScheme=0 --screenshot="$keep/dark.png" \
			"file://$work/page.html" &&
		browse --window-size=400,14000 --screenshot="$keep/phone.png" "file://$work/page.html" &&
		cp page.pdf "$keep/page.pdf"
}

claim a_page_is_written write_pages
claim it_fits_a_screen fits 1100
claim it_fits_a_phone fits 400
claim it_is_light_with_contrast is_light
claim it_is_dark_with_contrast is_dark
claim it_prints prints
[ -z "$keep" ] || claim pictures_are_kept pictures
exit $bad
