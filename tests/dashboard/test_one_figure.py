"""What PopKit did is one figure for each quantity, wherever a person reads it: panel, pane, band, page, status line, stats, their JSON."""

from __future__ import annotations

import json
import re

import pytest

from popkit_retention.cli.statusline_command import line_for
from popkit_retention.core import units
from popkit_retention.core.helper.commands import Commands
from popkit_retention.core.helper.compactions import Compactions
from popkit_retention.core.helper.drawing import PaneRequest
from popkit_retention.core.helper.pane import Pane
from popkit_retention.core.helper.prompt_cache import Misses
from popkit_retention.core.helper.reported import ClientReports
from popkit_retention.core.operations import context_words
from popkit_retention.core.policy.figures import of
from popkit_retention.core.state import journal, session, store
from popkit_retention.core.state.noted import SessionNotes
from popkit_retention.core.views import amounts, phrases, savings
from tests.dashboard.board import Board
from tests.reclaim.shops import BEGAN, LATER_S, SESSION, STEP_S, Later, worked

QUANTITIES = ("kept_out_tokens", "cleared_tokens", "cost_usd", "net_usd")


class Drawn:
    """Everything that shows the figures of one session, at one moment."""

    def __init__(self, board: Board) -> None:
        self.board, self.shop = board, board.shop
        self.site, self.path = board.shop.site(), str(board.shop.transcript)
        self.report = json.loads(self.answer("retention --json"))
        self.stats = json.loads(self.answer("stats --json"))
        self.figures = self.report["figures"]

    def answer(self, words: str) -> str:
        return context_words.answer(words, self.shop.site(), self.path, self.shop.at)

    def view(self, page: str) -> dict:
        site = self.shop.site()
        compactions = Compactions(SessionNotes(site.home, site.session_id))
        pane = Pane(self.path, Commands(self.shop.environ(), str(self.shop.project)), compactions, Misses(self.path, 0), ClientReports())
        return pane.view(site, PaneRequest(page, "", 110, 40, False), self.shop.at)

    def pane(self, page: str) -> list[str]:
        shown = self.view(page)["pane"]
        return [*shown["head"], *shown["lines"]]

    def status_line(self) -> str:
        payload = {
            "session_id": SESSION, "transcript_path": self.path, "cwd": str(self.shop.project),
            "context_window": {
                "context_window_size": self.report["context"]["window"],
                "current_usage": {"input_tokens": 3, "cache_read_input_tokens": self.report["context"]["tokens"] - 3},
            },
        }  # fmt: skip
        return line_for(json.dumps(payload), {**self.shop.environ(), "POPKIT_CLOCK": str(self.shop.at), "NO_COLOR": "1"})


@pytest.fixture
def board(board: Board) -> Board:
    """A session with everything in it: results that the door made smaller, one of them on a branch that was left, a clear that was
    confirmed, a restore, and what was fetched again."""
    shop = board.shop
    talk = worked(str(shop.project))
    shop.write(talk)
    board.shop.clear()
    handles = shop.cleared()
    later = Later(str(shop.project), tokens=talk.tokens - 4_000)
    later.entries = shop.entries()
    later.last = later.entries[-1]["uuid"]
    later.prompt("go on")
    later.bash("door-1", "cat notes")
    for number in range(20):
        later.bash(f"later-{number}", f"mkdir -p later/{number}")
    later.bash("restored-1", f"popkit restore {handles['old-test']}", shop.archived(handles["old-test"]))
    later.glob("found-again", "**/*.ts", [f"{shop.project}/src/part{n}.ts" for n in range(60)])
    later.glob("many", "**/*.md", [f"{shop.project}/docs/chapter{n * 7919}.md" for n in range(4_000)])
    later.tokens += 50_000
    for number in range(20):
        later.bash(f"last-{number}", f"mkdir -p last/{number}")
    later.say("Done.")
    later.write(shop.transcript)
    paths = shop.site().paths()
    for id in ("door-1", "on-a-branch-that-was-left"):
        at = BEGAN + 2 * LATER_S + STEP_S
        store.journal(paths, journal.entered(id, [], "abcd2345", 22_000, 1_000, 300, ["noise"], at))
    shop.at += 3 * LATER_S
    session.update(str(shop.home), SESSION, transcript=str(shop.transcript), project=str(shop.project))
    return board


def test_every_surface_says_the_same_of_each_quantity(board: Board) -> None:
    drawn = Drawn(board)
    _what_it_did_is_the_same(drawn, board.session(), board.get("/api/stats"))
    _what_the_context_holds_is_the_same(drawn, board.session(), board.get("/api/sessions")["sessions"][0])


def _what_it_did_is_the_same(drawn: Drawn, page: dict, all_time: dict) -> None:
    """Kept out, cleared, cost and net: panel, pane, page, stats and their JSON."""
    figures = drawn.figures
    assert figures["kept_out_results"] == 2, "what was kept out of a branch that was left stays counted"
    assert all((figures["kept_out_tokens"], figures["cleared_tokens"], figures["cost_usd"], figures["net_usd"], figures["restored"]))
    assert figures["refetched"] >= 1

    # In JSON: of the session alone, and of everything, since there is no other session.
    of_session, stats = {name: figures[name] for name in QUANTITIES}, drawn.stats
    in_json = [*(stats[of]["figures"] for of in ("session", "project", "all")), stats["worth"]["installed"]]
    for figure_set in (*in_json, page["figures"], all_time["figures"], all_time["projects"][0]["figures"]):
        assert {name: figure_set[name] for name in QUANTITIES} == of_session
    assert stats["session"]["tokens_reclaimed"] == figures["cleared_tokens"]
    for name in QUANTITIES:
        assert sum(day[name] for day in all_time["days"]) == pytest.approx(figures[name], abs=1e-5)

    # In words: the same sentence, the same headline, the same rows.
    sentence, saved = savings.ledger_in_words(figures), "\n".join(drawn.pane("saved"))
    for output in (drawn.answer("retention"), "\n".join(drawn.pane("now")), saved, "\n".join(page["ledger"])):
        assert sentence in " ".join(output.split())
    headline = savings.headline(stats["worth"])
    for output in (drawn.answer("stats"), saved, all_time["headline"]):
        assert headline in output
    kept_out, cleared = units.estimate(figures["kept_out_tokens"]), f"{figures['cleared_tokens']:,}"
    cost, net = amounts.usd(figures["cost_usd"]), amounts.usd(figures["net_usd"], True)
    for output in (saved, drawn.answer("stats"), "\n".join(all_time["lines"])):
        assert [_last_of(row, output) for row in ("Kept out", "Cleared", "Cost", "Net")] == [kept_out, cleared, cost, net]
    assert re.search(
        rf"kept out {re.escape(kept_out)} tokens, cleared {cleared} tokens.* cost {re.escape(cost)}, net {re.escape(net)}", sentence
    )


def _what_the_context_holds_is_the_same(drawn: Drawn, page: dict, card: dict) -> None:
    """The context and its window, what has expired, what would leave, the verdict: panel, pane, band, status line, page and JSON."""
    report, band = drawn.report, drawn.view("now")["band"]
    context, expired, leaves = report["context"], report["expired"]["tokens"], report["reclaimable"]["now"]["tokens"]
    assert leaves >= 20_000, "so the band speaks"
    assert report["verdict"]["tokens"] == leaves
    assert page["report"] == {name: report[name] for name in page["report"]}
    for listed in (card, page["session"]):
        assert listed["context"]["tokens"] == context["tokens"]
        assert listed["context"]["words"] == f"{context['tokens']:,} of {context['window']:,} tokens"
        assert (listed["expired_tokens"], listed["reclaimable_now"]) == (expired, leaves)
    size = f"{context['tokens']:,} of {context['window']:,} tokens ({context['ratio']:.0%})"
    for output in (drawn.answer("retention"), "\n".join(drawn.pane("now"))):
        flat = " ".join(output.split())
        assert f"Context {size}" in flat
        assert f"Expired: {units.estimate(expired)} tokens" in flat
        assert f"Reclaimable: {units.estimate(leaves)} tokens" in flat
    words = f"Clear now: the cache is cold, so {units.short_tokens(leaves)} leave{phrases.saves(report['verdict']['usd'])}"
    [offered] = [operation["sum"] for operation in band["operations"]]
    verdicts = [drawn.view("now")["pane"]["head"][0], band["text"], card["verdict"]["words"], page["session"]["verdict"]["words"]]
    assert verdicts == [words] * 4
    assert words in drawn.answer("retention").splitlines()
    assert offered.startswith(words.removeprefix("Clear now: "))
    assert f"context {context['ratio']:.0%}" in drawn.status_line()
    assert f"{units.tokens(leaves)} reclaimable" in drawn.status_line()


def _last_of(row: str, output: str) -> str:
    """The last cell of the first row of this name."""
    return next(line.split()[-1] for line in output.splitlines() if re.match(rf"{row}  ", line))


def test_tokens_and_money_never_share_a_word(board: Board) -> None:
    drawn = Drawn(board)
    for output in (drawn.answer("stats --details"), drawn.answer("retention"), "\n".join(drawn.pane("saved"))):
        for line in output.splitlines():
            if re.match(r"(Cost|Net)\b", line):
                assert "$" in line, line
            if re.match(r"(Kept out|Cleared)\b", line):
                assert "$" not in line, line
    assert set(of({})) >= set(QUANTITIES), "in JSON the unit ends the name"
