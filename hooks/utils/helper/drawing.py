"""Draw a look at a context: the band above the prompt, the pages of the pane.

A look holds every result of the session, each several times, and little of that memory comes back afterwards. So of a long transcript it
is taken in a process of its own, which ends with it.
"""

from __future__ import annotations

import json  # noqa: TID253  no hook loads the helper
import os
import subprocess  # noqa: TID253
import sys

from .. import efficiency_tracker as tracker
from .. import text
from ..hosts import IN_CLIENT
from ..io import hook_log, processes
from ..operations import auto_switch, compaction_losses, offers
from ..operations.receipts import receipts_of
from ..policy import figures, masking
from ..policy.limits import windows
from ..policy.verdict import is_worth_a_word
from ..reclaim import outlook
from ..state import limit_readings, prompt_contents, stale_ledgers
from ..state import status_line as stored
from ..state.site import Site
from ..views import compacting, losses, one_result, panel, phrases, plan_limits, receipt, report, savings, status_line, timeline, verdicts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypedDict

    from ..operations.offers import Offer
    from ..views.shapes import AutoCompaction, Report, ResultRow

    class Drawing(TypedDict):
        """The result of a look: `band`, `line`, `status`, `pane` and `cache_until` as the mod has them, tokens that were `kept_out`, the
        `model` that answered last ("" where that is not known), what would leave the `cold` cache now, and which results (`ids`), until
        what `share` of the conversation stays, if it is at `least` so many tokens; and the number of `calls`."""

        band: dict[str, object] | None
        line: str
        status: str
        pane: dict[str, Any]
        cache_until: int | None
        kept_out: float
        model: str
        cold: AutoCompaction
        ids: list[str]
        share: float | None
        least: int
        calls: int


NOW, RESULTS, SAVED, BILL, SETTINGS = "now", "results", "saved", "bill", "settings"
# id -> (label, the key that opens it).
TITLES = {NOW: ("Now", "1"), RESULTS: ("Results", "2"), SAVED: ("Saved", "3"), SETTINGS: ("Settings", "4"), BILL: ("Bill", "5")}
TABS = 1  # rows above all else
# Bytes of a transcript from which a look is taken in a process of its own: it takes longer than that needs to start.
LONG_BYTES = 2 * 1024 * 1024
_LONGEST_S = 300.0
_LABEL = 48
_CLEARED = "archived first; undo brings it back"  # the verdict above it says what leaves
_NARROWEST = 20


class PaneRequest:
    """A request for the pane: the `page`, the id of the result `chosen` on it, its `columns` and `rows`, and whether a turn has just
    ended."""

    __slots__ = ("chosen", "columns", "page", "rows", "turn_ended")

    def __init__(self, page: str, chosen: str, columns: int, rows: int, turn_ended: bool) -> None:
        self.page = page
        self.chosen = chosen
        self.columns = max(_NARROWEST, columns)
        self.rows = rows
        self.turn_ended = turn_ended

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}


def drawn(site: Site, transcript_path: str, request: PaneRequest, usd: float | None, now: float) -> Drawing:
    """Return the result of `draw`, made by a process of its own or, if that fails, by this one."""
    if _is_long(transcript_path):
        try:
            return _drawn_elsewhere(site, transcript_path, request, usd, now)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            hook_log.log_failure(site.environ, "pane", error)
    return draw(site, transcript_path, request, usd, now)


def _is_long(transcript_path: str) -> bool:
    try:
        return os.path.getsize(transcript_path) >= LONG_BYTES
    except (OSError, ValueError):
        return False  # there is none yet


def _drawn_elsewhere(site: Site, transcript_path: str, request: PaneRequest, usd: float | None, now: float) -> Drawing:
    words = ["serve", "--draw", "--session", site.session_id, "--transcript", transcript_path, "--cwd", site.project]
    asked = {"request": request.to_json(), "usd": usd, "now": now, "learnt": masking.secrets_learnt()}
    done = subprocess.run(  # noqa: S603  our own command; words are arguments, never a shell's
        processes.popkit_command(words), env=dict(site.environ), input=json.dumps(asked).encode("ascii"), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, timeout=_LONGEST_S, check=True,
    )  # fmt: skip
    drawing: Drawing = json.loads(done.stdout)
    return drawing


def draw_once(environ: Mapping[str, str], session_id: str, transcript_path: str, cwd: str) -> None:
    """Read a helper's request from standard input, and print the result of `draw`."""
    asked = json.loads(sys.stdin.buffer.read())
    masking.learn_again(asked["learnt"])
    drawing = draw(Site(environ, session_id, cwd), transcript_path, PaneRequest(**asked["request"]), asked["usd"], asked["now"])
    sys.stdout.write(json.dumps(drawing))


def draw(site: Site, transcript_path: str, request: PaneRequest, usd: float | None, now: float) -> Drawing:
    """Return the band and a page; of the pages made by other processes (`page`) only the report's part. `usd`: the cost of the session so
    far, as the client counts."""
    width = text.width_of(request.columns)
    view = outlook.look(site, transcript_path, now)
    current = report.build(view)
    cold_now = auto_switch.auto_compaction_of(site, view)
    full = plan_limits.limits_line(windows(limit_readings.readings(site.home), now), now)
    question = compacting.cold_question(cold_now) if current["verdict"]["kind"] == "clear" else ""
    is_now = request.page not in TITLES or request.page == NOW  # the page with what the messages hold
    contents = prompt_contents.contents_of(site.home, site.session_project, transcript_path) if is_now else None
    shown = page(request.page, current, request.chosen, width, request.rows, question, full, contents)
    if shown["page"] == SAVED:
        saved = text.laid_out([*_saved(site, current, now), *_spent(usd)], width)
        receipts = receipts_of(site, current)
        shown["head"] = text.laid_out(receipt.pane_head(receipts, now), width)
        room = request.rows - TABS - len(shown["head"]) - len(shown["operations"]) - len(saved)
        shown["lines"] = text.laid_out([*receipt.pane_lines(receipts, now, width, room, IN_CLIENT), *_lost(site, view)], width) + saved
    worth = not site.stands_still and is_worth_a_word(current["verdict"], current["context"], view.rules.thresholds["critical"])
    offered = offers.to_json([offer for offer in offers.of_context(current) if offer.id == "clear"])
    line = status_line.of_report(current, view.rules.thresholds, full)
    context = current["context"]
    left = context["cache_seconds_left"] if context else 0
    return {
        "band": {"text": verdicts.notice(current), "operations": offered} if worth else None,
        "line": line,
        "status": line if stored.is_on(site.lasting_home) else "",
        "pane": shown,
        "cache_until": round((now + left) * 1000) if left else None,
        "kept_out": current["figures"].get("kept_out_tokens", 0),
        "model": context["model"] if context else "",
        "cold": cold_now,
        "ids": view.now.ids if view.now is not None else [],
        "share": view.now.share if view.now is not None else None,
        "least": view.now.least if view.now is not None else 0,
        "calls": view.state.index,
    }


def _lost(site: Site, view: outlook.Outlook) -> list[text.Line]:
    """Return what the newest compaction lost, whoever made it; [] where there was none."""
    if view.rebuilt is None or not view.rebuilt.index.compactions:
        return []
    lost = compaction_losses.of_transcript(view.transcript, site.home, compaction_losses.FEW_ROWS, True, view.rebuilt.index)
    return losses.pane_lines(lost[0], IN_CLIENT) if lost else []


def _spent(usd: float | None) -> list[text.Line]:
    return [] if usd is None else text.wrap(f"Claude Code counts ${usd:,.2f} for the whole session so far.")


def _saved(site: Site, current: Report, now: float) -> list[text.Line]:
    """Return the worth of PopKit, in this session and on this machine."""
    stale_ledgers.catch_up(site, current["transcript"])
    worth = tracker.worth(tracker.all_metrics(site.home), now)
    lines = [*text.title("Saved"), *text.wrap(savings.headline(worth), indent="  ")]
    if current["figures"]:
        lines += text.wrap(savings.ledger_in_words(current["figures"]), indent="  ")
    if figures.is_anything(worth["installed"]):
        lines += ["", *savings.ledger_table(worth)]
    return [*lines, "", *text.wrap(f"By session, project and cause: {IN_CLIENT} stats --details")]


def page(
    name: str, report: Report, chosen: str, width: int, rows: int, question: str = "", full: str = "",
    contents: dict[str, object] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return `pages`, the `page` that is shown, its `head` (lines above the offers) and `lines`, `choices` (None for none) and
    `operations`, the offers. `chosen`: the id of the selected result; `width`, `rows`: columns and rows of the pane; `question`: about
    compacting when the cache is cold, "" for none; `full`: how full the plan's limits are, "" where that is unknown; `contents`: what the
    messages hold. A report has neither savings, bill nor settings: their pages have no lines here. Pure."""
    shown = name if name in TITLES else NOW
    row = next((row for row in report["results"] if row["id"] == chosen), None)
    offered: list[Offer] = offers.of_context(report)
    choices: dict[str, object] | None = None
    head: list[str] = []
    if shown == RESULTS:
        lines, choices = _results(report, row, width)
        offered = offers.of_result(row, not report["doubt"]) if row else []
    elif shown in (SAVED, BILL, SETTINGS):
        lines, offered = [], [offer for offer in offered if offer.id == "undo" and shown == SAVED]
    else:
        head = text.laid_out(panel.pane_head(report), width)
        offered = [offer._replace(sum=_CLEARED) if offer.id == "clear" else offer for offer in offered] + offers.of_auto(question)
        lines = text.laid_out(panel.pane_lines(report, width, rows - TABS - len(head) - len(offered), full, contents), width)
    return {
        "pages": [{"id": id, "label": label, "key": key} for id, (label, key) in TITLES.items()],
        "page": shown,
        "head": head,
        "lines": lines[1:] if lines and not lines[0] else lines,
        "choices": choices,
        "operations": offers.to_json(offered),
    }


def _results(report: Report, row: ResultRow | None, width: int) -> tuple[list[str], dict[str, object] | None]:
    """Return (lines that explain the chosen result, then the timeline; the results that can be chosen, the newest first)."""
    lines = text.laid_out(timeline.timeline_lines(report, folds=True, more=f"Type {IN_CLIENT} timeline --all"), width)
    newest = report["results"][: -timeline.LAST - 1 : -1]
    if not newest:
        return lines, None
    options = [{"value": one["id"], "label": f"{phrases.number(one)} {phrases.label(one, _LABEL)}"} for one in newest]
    if row is None:
        return lines, {"options": options, "value": ""}
    if row not in newest:
        options.append({"value": row["id"], "label": f"{phrases.number(row)} {phrases.label(row, _LABEL)}"})
    return [*text.laid_out(one_result.why(report, row, command=IN_CLIENT)[1:], width), *lines], {"options": options, "value": row["id"]}
