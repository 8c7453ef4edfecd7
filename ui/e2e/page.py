#!/usr/bin/env python3
"""Reads a report the way a browser and an XML parser do, and checks what report.sh asks for.

usage: page.py CHECK PAGE [ARGUMENT]...; silent and 0 if the check holds.
"""
import json
import re
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Strict(HTMLParser):
    """Every tag that is opened is closed, in order; keeps tags, attributes and text."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.words.append(data)


def parse(path):
    page = Strict()
    with open(path, encoding="utf-8") as file:
        page.feed(file.read())
    page.close()
    assert not page.open, page.open
    return page, ET.parse(path).getroot()


def wellformed(path):
    page, root = parse(path)
    ids = [attrs["id"] for _, attrs in page.seen if "id" in attrs]
    assert len(ids) == len(set(ids)), "an id is there twice"
    for tag, attrs in page.seen:
        for word in attrs.get("aria-labelledby", "").split():
            assert word in ids, f"{word} labels nothing"
        if tag == "svg":
            assert attrs.get("role") == "img" or attrs.get("aria-hidden") == "true", attrs
    for svg in root.iter("svg"):
        assert svg.get("aria-hidden") or svg.find("title").text, "a chart without a title"
    assert len([e for e in root.iter("svg") if e.get("class") == "chart"]) >= 10


def alone(path):
    """Nothing is fetched and nothing runs."""
    page, _ = parse(path)
    for tag, attrs in page.seen:
        assert tag not in {"script", "link", "iframe", "object", "embed", "img"}, tag
        for name, value in attrs.items():
            assert not name.startswith("on") and name not in {"src", "style"}, name
            assert name != "href" or value.startswith("#"), value
            assert "url(" not in value or value.startswith("url(#"), value
    text = open(path, encoding="utf-8").read()
    assert "@import" not in text and "http" not in text


def figures(path, compared):
    """The comparison has exactly the figures, in the order and with the verdicts of compare --json."""
    _, root = parse(path)
    runs = json.load(open(compared, encoding="utf-8"))["runs"]
    tables = [t for t in root.iter("table") if t.get("class") == "compare"]
    groups = sorted({run["group"] for run in runs})
    assert len(tables) == len(groups), (len(tables), groups)
    how = {"m": "measured", "p": "planned", "c": "modelled"}
    rows = 0
    for table, group in zip(tables, groups):
        mine = [run for run in runs if run["group"] == group]
        for row in table.find("tbody"):
            name = row[0].text
            letters = row[1][0].text
            values = [cell[0].get("value") if len(cell) else None
                      for cell in row if cell.get("class") == "value"]
            verdicts = [cell.get("class") for cell in row if (cell.get("class") or "").startswith("verdict")]
            key = next(k for k in mine[0]["metrics"] if label(k, name))
            wanted = [run["metrics"][key]["mean"] for run in mine]
            assert [float(v) for v in values] == wanted, (name, values, wanted)
            assert {how[c] for c in letters} == {run["metrics"][key]["figure"] for run in mine}, name
            for cell, run in zip(verdicts, mine[1:]):
                said = run["metrics"][key]["verdict"]
                assert ("better" in cell) == (said == "better"), (name, cell, said)
                assert ("worse" in cell) == (said == "worse"), (name, cell, said)
            rows += 1
    assert rows >= 10, rows


def label(key, name):
    words = re.sub(r" \((s|ms|us|%|KB/s)\)$", "", name).replace(" ", "_")
    return key in (words, words + "_us", words + "_kb_per_s")


def causes(path, explained):
    """The bars of the causes follow each other from 0 to 100%, with the counts of explain --json."""
    _, root = parse(path)
    wanted = json.load(open(explained, encoding="utf-8"))
    for policy in root.iter("div"):
        if policy.get("class") != "policy" or "".join(policy.find("h3").itertext()).strip() != wanted["policy"]:
            continue
        table = next(policy.iter("table"))
        at, counts = 0.0, {}
        for row in table.find("tbody"):
            bar = row.find("td/svg/rect")
            assert abs(float(bar.get("x")) - at) < 0.02, (row[0].text, bar.get("x"), at)
            counts[row[0].text] = int(row[3].text.replace(",", ""))
            at += 100 * counts[row[0].text] / wanted["contexts"]
        assert abs(at - 100) < 1e-6, at
        assert counts == {k: n for k, n in wanted["breaks"].items() if n}, counts
        text = " ".join("".join(policy.itertext()).split())
        for sentence in wanted["summary"]:
            assert sentence in text, sentence
        return
    raise AssertionError("no such policy: " + wanted["policy"])


def gaps(path, n):
    """Every chart over time has the gaps."""
    _, root = parse(path)
    charts = [e for e in root.iter("svg") if e.get("class") == "chart" and
              any("start of the trace" in (t.text or "") for t in e.iter("text"))]
    assert len(charts) == 7, len(charts)
    for chart in charts:
        bands = [r for r in chart.iter("rect") if r.get("class") == "gapline"]
        assert len(bands) == int(n), len(bands)
        assert all(float(band.get("width")) >= 3 for band in bands)


def says(path, *texts):
    page, _ = parse(path)
    words = " ".join(" ".join(page.words).split())
    for text in texts:
        assert text in words, text


def without(path, *texts):
    raw = open(path, encoding="utf-8").read()
    for text in texts:
        assert text not in raw, text


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
