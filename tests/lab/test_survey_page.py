"""The page of a survey: all of it in one file, nothing fetched, every policy in words as well as in the plot, hostile names harmless."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("plotly")

from popkit_retention.lab import survey, survey_page
from tests.lab.test_survey import session

NAMES = ["auto", "masking-10", "dcp-dedupe", "oracle-needs", "oracle"]
HOSTILE = 'x"><img src=x onerror=alert(1)>__<b>&\u202e.jsonl'


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its text outside scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list = []
        self.styles: list = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.lasttag == "style":
            self.styles.append(data)
        elif self.lasttag != "script":
            self.text += data + " "


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("sessions")
    session(folder / "-shop" / "one.jsonl", 30, 1)
    session(folder / "-forum" / "two.jsonl", 16, 3)
    (folder / "empty.jsonl").write_text("")
    return survey.survey([str(folder)], NAMES, (300, 3_600), 1)


@pytest.fixture(scope="module")
def tags(report) -> Tags:
    tags = Tags()
    tags.feed(survey_page.page(report))
    return tags


def test_the_page_refers_to_nothing_outside_itself(tags) -> None:
    for _, attributes in tags.tags:
        assert not {"src", "href", "srcset", "data", "action", "poster"} & set(attributes)
    assert not re.search(r"@import|url\(", "".join(tags.styles))
    assert "link" not in [tag for tag, _ in tags.tags]


def test_the_browser_is_told_to_fetch_nothing(tags) -> None:
    policies = [attributes["content"] for tag, attributes in tags.tags if attributes.get("http-equiv") == "Content-Security-Policy"]
    assert policies
    assert policies[0].startswith("default-src 'none'; ")
    assert "http" not in policies[0]


@pytest.mark.parametrize("name", ["nothing", *NAMES])
def test_every_policy_is_in_the_table_and_in_the_plot_for_each_lifetime(report, tags, name) -> None:
    assert len(re.findall(rf"(?<![\w-]){name}(?![\w-])", tags.text)) >= 2
    for policies in report["ttls"].values():
        assert name in [trace.name for trace in survey_page.trade_off(policies).data]


def test_every_plot_says_in_words_what_it_shows(tags) -> None:
    figures = [attributes for tag, attributes in tags.tags if tag == "figure"]
    assert len(figures) == 3
    assert all(attributes["role"] == "img" and len(attributes["aria-label"]) > 40 for attributes in figures)


def test_every_axis_says_what_it_counts(report) -> None:
    for figure in (survey_page.trade_off(report["ttls"]["300"]), survey_page.curve(report["curve"])):
        assert figure.layout.xaxis.title.text
        assert figure.layout.yaxis.title.text


def test_the_page_follows_the_colours_that_the_reader_prefers(tags) -> None:
    assert "prefers-color-scheme: dark" in tags.styles[0]
    assert "color-scheme: light dark" in tags.styles[0]


def test_labels_stand_clear_of_each_other_while_there_is_room() -> None:
    marks = {f"policy-{at}": (0.1 * (at % 3), 1 + 0.001 * at) for at in range(12)}
    labels = survey_page._labels(marks, (-0.5, 8), (0.7, 1.4))
    assert len({(label["x"] * 100 + label["ax"], label["y"] * 600 + label["ay"]) for label in labels}) == 12


def test_names_from_the_disk_are_harmless(report) -> None:
    row = {**report["rows"][0], "path": "/p/" + HOSTILE, "repository": HOSTILE}
    hostile = {**report, "rows": [row], "curve": {**report["curve"], "path": "/p/" + HOSTILE}, "skipped": {"<script>": 1}}
    tags = Tags()
    tags.feed(survey_page.page(hostile))
    assert "img" not in [tag for tag, _ in tags.tags]
    assert "b" not in [tag for tag, _ in tags.tags]
    assert "\u202e" not in tags.text
    assert sum(tag == "script" for tag, _ in tags.tags) == 1 + 3  # the library, and one for each plot


def test_a_survey_that_found_nothing_has_a_page_too(tmp_path) -> None:
    page = survey_page.page(survey.survey([str(tmp_path)], NAMES, (300,), 1))
    assert "0 sessions" in page


def test_the_script_says_whether_it_could(repo_root: Path) -> None:
    script = repo_root / "power-mode" / "popkit_retention" / "lab" / "survey_page.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0
    assert subprocess.run([sys.executable, "-S", "-E", script, "--check"], capture_output=True, check=False).returncode == 1
