"""What PopKit did is one figure for each quantity, wherever a person reads it: panel, pane, band, page, status line, stats, their JSON."""

from __future__ import annotations

import json
import re

import pytest

from hooks.utils.answers import command, ledgers, text
from hooks.utils.helper.native import Native
from hooks.utils.helper.views import Asked, Views
from hooks.utils.policy.figures import of
from hooks.utils.state import journal, session, store
from popkit_retention.cli.statusline_command import line_for
from tests.dashboard.board import Board
from tests.reclaim.shops import BEGAN, LATER_S, SESSION, STEP_S, Talk, stamp, worked

QUANTITIES = ("kept_out_tokens", "cleared_tokens", "cost_usd", "net_usd")


class Later(Talk):
    """What a session says after a break."""

    def add(self, kind: str, parent: str | None = "", **fields) -> str:
        return super().add(kind, parent, timestamp=stamp(BEGAN + 2 * LATER_S + STEP_S * len(self.entries)), **fields)


class Drawn:
    """Everything that shows the figures of one session, at one moment."""

    def __init__(self, board: Board) -> None:
        self.board, self.shop = board, board.shop
        self.site, self.path = board.shop.site(), str(board.shop.transcript)
        self.report = json.loads(self.answer("retention --json"))
        self.stats = json.loads(self.answer("stats --json"))
        self.figures = self.report["figures"]

    def answer(self, words: str) -> str:
        return command.answer(words, self.shop.site(), self.path, self.shop.at)

    def view(self, page: str) -> dict:
        views = Views(self.path, Native(self.shop.environ(), str(self.shop.project)))
        return views.view(self.shop.site(), Asked(page, "", 110, 40, False), self.shop.at)

    def pane(self, page: str) -> list[str]:
        shown = self.view(page)["pane"]
        return [*shown["head"], *shown["lines"]]


@pytest.fixture
def board(board: Board) -> Board:
    """A session with everything in it: results that the door made smaller, one of them on a branch that was left, a clear that was
    confirmed, a restore, and what was fetched again."""
    shop = board.shop
    talk = worked(str(shop.project))
    shop.write(talk)
    board.deed("clear")
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
    figures = drawn.figures
    assert figures["kept_out_results"] == 1, "what stands on a branch that was left is not counted"
    assert all((figures["kept_out_tokens"], figures["cleared_tokens"], figures["cost_usd"], figures["net_usd"], figures["restored"]))
    assert figures["refetched"] >= 1

    # In JSON: of the session alone, and of everything, since there is no other session.
    of_session = {name: figures[name] for name in QUANTITIES}
    stats, page = drawn.stats, board.get("/api/stats")
    for told in (stats["session"]["figures"], stats["project"]["figures"], stats["all"]["figures"], stats["worth"]["installed"]):
        assert {name: told[name] for name in QUANTITIES} == of_session
    assert {name: board.session()["figures"][name] for name in QUANTITIES} == of_session
    assert {name: page["figures"][name] for name in QUANTITIES} == of_session
    assert {name: page["projects"][0]["figures"][name] for name in QUANTITIES} == of_session
    assert stats["session"]["tokens_reclaimed"] == figures["cleared_tokens"]
    for name in QUANTITIES:
        assert sum(day[name] for day in page["days"]) == pytest.approx(figures[name], abs=1e-5)

    # In words: the same sentence, the same headline, the same rows.
    sentence = ledgers.in_words(figures)
    for said in (drawn.answer("retention"), *map("\n".join, (drawn.pane("now"), drawn.pane("saved"), board.session()["ledger"]))):
        assert sentence in " ".join(said.split())
    headline = ledgers.headline(stats["worth"])
    for said in (drawn.answer("stats"), "\n".join(drawn.pane("saved")), page["headline"]):
        assert headline in said
    kept_out, cleared = text.estimate(figures["kept_out_tokens"]), f"{figures['cleared_tokens']:,}"
    cost, net = ledgers.usd(figures["cost_usd"]), ledgers.usd(figures["net_usd"], True)
    for said in ("\n".join(drawn.pane("saved")), drawn.answer("stats"), "\n".join(page["lines"])):
        assert _last_of("Kept out", said) == kept_out
        assert _last_of("Cleared", said) == cleared
        assert _last_of("Cost", said) == cost
        assert _last_of("Net", said) == net
    assert re.search(
        rf"kept out {re.escape(kept_out)} tokens, cleared {cleared} tokens.* cost {re.escape(cost)}, net {re.escape(net)}", sentence
    )


def _last_of(row: str, said: str) -> str:
    """The last cell of the first row of this name."""
    return next(line.split()[-1] for line in said.splitlines() if re.match(rf"{row}  ", line))


def test_what_would_leave_is_the_same_in_panel_pane_band_page_and_status_line(board: Board) -> None:
    drawn = Drawn(board)
    takes = drawn.report["reclaimable"]["now"]["tokens"]
    shown = board.session()
    assert shown["report"]["reclaimable"]["now"]["tokens"] == takes
    assert shown["report"]["verdict"]["tokens"] == drawn.report["verdict"]["tokens"]
    words = " ".join(drawn.view("now")["pane"]["head"])
    assert words in " ".join(drawn.answer("retention").split())
    assert shown["session"]["verdict"]["words"] == words
    payload = json.dumps({"session_id": SESSION, "transcript_path": drawn.path, "cwd": str(board.shop.project)})
    line = line_for(payload, {**board.shop.environ(), "POPKIT_CLOCK": str(board.shop.at), "NO_COLOR": "1"})
    assert (f"{text.tokens(takes)} reclaimable" if takes else "nothing reclaimable") in line


def test_tokens_and_money_never_share_a_word(board: Board) -> None:
    drawn = Drawn(board)
    for said in (drawn.answer("stats --details"), drawn.answer("retention"), "\n".join(drawn.pane("saved"))):
        for line in said.splitlines():
            if re.match(r"(Cost|Net)\b", line):
                assert "$" in line, line
            if re.match(r"(Kept out|Cleared)\b", line):
                assert "$" not in line, line
    assert set(of({})) >= set(QUANTITIES), "in JSON the unit ends the name"
