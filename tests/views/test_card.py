"""The card: what PopKit was worth, to show to others, as a picture and as Markdown, also where it was worth nothing."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from hooks.utils import flag_parser
from hooks.utils.operations import CONTEXT
from hooks.utils.operations.context import respond
from hooks.utils.policy import figures
from hooks.utils.views import history
from tests.views.written import Written

GOLDENS = Path(__file__).parent / "goldens"
GAIN = {"kept_out_tokens": 812_345, "reclaimed_tokens": 1_204_000, "usd_kept_out": 21.5, "usd_cleared": 9.1, "usd_kept_warm": 4.0,
        "usd_charged": 3.25, "kept_warm": 41, "kept_out": 7}  # fmt: skip
LOSS = {"kept_out_tokens": 1_000, "usd_kept_out": 0.02, "usd_charged": 1.5}
UNKNOWN = {"kept_out_tokens": 1_000, "unpriced": 3}


def made(kind: str, ledger: dict) -> str:
    return history.card(kind, figures.of_ledger(ledger), {"installed": figures.of(ledger)}, 41, "2026-11-24", "2026-11")


@pytest.mark.parametrize(("name", "ledger"), [("gain", GAIN), ("loss", LOSS), ("unknown", UNKNOWN), ("nothing", {})])
@pytest.mark.parametrize("kind", [history.SVG, history.MARKDOWN])
def test_a_card_says_the_net_whatever_it_is(kind: str, name: str, ledger: dict, golden):
    golden(GOLDENS / f"card-{name}{kind}", made(kind, ledger))


def test_the_picture_is_xml_and_nothing_stands_outside_of_it():
    root = ET.fromstring(made(history.SVG, GAIN))  # noqa: S314  our own
    height = float(root.attrib["height"])
    texts = [each for each in root if each.tag.endswith("text")]
    assert texts
    assert all(0 < float(each.attrib["y"]) < height for each in texts)


@pytest.fixture
def session(tmp_path: Path) -> Written:
    written = Written(tmp_path / "p")
    written.say("go")
    written.grep("one")
    return written


def stats_answer(session: Written, tmp_path: Path, path: Path):
    parsed = flag_parser.parse(["stats", "--card", str(path)], CONTEXT)
    return respond(parsed, session.site(tmp_path / "home"), str(session.path), session.now, "popkit context")


@pytest.mark.parametrize("name", ["card.svg", "card.md", "card.SVG"])
def test_the_card_is_written_where_it_was_asked_for_and_again_over_itself(name: str, session: Written, tmp_path: Path):
    for _ in range(2):
        answer = stats_answer(session, tmp_path, tmp_path / name)
        assert not answer.error
    assert history.MARK in (tmp_path / name).read_text()


def test_a_file_that_is_no_card_is_never_replaced(session: Written, tmp_path: Path):
    (tmp_path / "notes.md").write_text("mine")
    assert "is no card" in stats_answer(session, tmp_path, tmp_path / "notes.md").error
    assert (tmp_path / "notes.md").read_text() == "mine"


def test_a_folder_that_is_not_there_is_named(session: Written, tmp_path: Path):
    error = stats_answer(session, tmp_path, tmp_path / "none" / "card.svg").error
    assert error.startswith(f"there is no folder {tmp_path / 'none'}")
    assert ".tmp" not in error


def test_another_kind_of_file_is_refused(session: Written, tmp_path: Path):
    assert "--card writes .svg or .md" in stats_answer(session, tmp_path, tmp_path / "card.png").error
    assert not (tmp_path / "card.png").exists()
