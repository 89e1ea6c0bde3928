"""Draw what the mod shows: the band above the prompt and the pages of the live pane. The mod adds no rule of its own."""

from __future__ import annotations

from contextlib import suppress

from .. import archive, text
from .. import efficiency_tracker as tracker
from ..hosts import is_kept
from ..operations import context_words, offers, reclaiming, request, switches
from ..policy import figures
from ..policy.limits import windows
from ..policy.verdict import is_worth_a_word
from ..reclaim import access, cold_compaction, outlook, restoring
from ..state import client_reports, reconciling
from ..views import amounts, bill, cache, history, panel, phrases, receipt, report, results

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..operations.offers import Offer
    from ..state.live import Site
    from ..views.shapes import CompactsCold, Report, ResultRow
    from .compactions import Compactions
    from .native import Native
    from .prompt_cache import Misses

NOW, RESULTS, SAVED, BILL, SETTINGS = "now", "results", "saved", "bill", "settings"
# id -> (label, the key that opens it).
TITLES = {NOW: ("Now", "1"), RESULTS: ("Results", "2"), SAVED: ("Saved", "3"), SETTINGS: ("Settings", "4"), BILL: ("Bill", "5")}
TABS = 1  # rows above all else
COMMAND = "/popkit"
_LABEL = 48
_CLEARED = "archived first; undo brings it back"  # the verdict above it says what leaves
_NOT_NATIVE = "PopKit: clearing by the provider is switched on in Claude Code's settings, and does nothing here."
_NARROWEST = 20
_MOST_TOKENS = 10**9
_WORTH_TELLING = 10_000  # tokens that were kept out
_MOST_KINDS = 5  # rows of what the conversations on a bill were made of
_SHOWN_LINES = 400  # of a content, in the pane


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


class Pane:
    """The band and the pane of one session. `native`: clearing by the provider, which runs in a process of its own; `compactions`: where
    requests wait until the host compacts; `misses`: what its prompt cache loses."""

    def __init__(self, transcript_path: str, native: Native, compactions: Compactions, misses: Misses) -> None:
        self.transcript_path = transcript_path
        self.native = native
        self.compactions = compactions
        self.misses = misses
        self.left_at = -1  # calls of the conversation when results last left it by themselves
        self.usd: float | None = None  # what the session has cost so far, as the client counts

    def note_usage(self, site: Site, usage: object, now: float, fresh: bool) -> None:
        """Note what the client reports of the session: {`window`: tokens, `usd`, `limits`}. Anything else is ignored. `fresh`: an answer
        has just come."""
        if not isinstance(usage, dict):
            return
        window, usd = usage.get("window"), usage.get("usd")
        if type(window) is int and 0 < window < _MOST_TOKENS and site.session.get("window_tokens") != window:
            site.remember(window_tokens=window)
        if isinstance(usd, (int, float)) and not isinstance(usd, bool) and 0 <= usd < _MOST_TOKENS:
            self.usd = usd
        if site.enabled:
            with suppress(OSError):  # the next one is kept
                client_reports.note_limits(site.home, usage.get("limits"), now, fresh)

    def view(self, site: Site, request: PaneRequest, now: float) -> dict[str, Any]:
        """Return `band`: what to do now, None for nothing · `pane`: a page, as `page` returns it · `cache_until`: when the cache goes cold
        (milliseconds), None when it is · `toast`: a notice of a lost cache or of the end of a turn, "" for none. There is no line for the
        prompt's foot: the client draws text there as a warning."""
        width = text.width_of(request.columns)
        view = outlook.look(site, self.transcript_path, now)
        current = report.build(view)
        cold_now = switches.compacts_cold(site, view)
        full = amounts.limits_line(windows(client_reports.readings(site.home), now), now)
        shown = page(request.page, current, request.chosen, width, request.rows, cache.cold_question(cold_now), full)
        if shown["page"] == SAVED:
            saved = text.laid_out([*_saved(site, current, now), *self._spent()], width)
            receipts = reclaiming.receipts_of(site, current)
            shown["head"] = text.laid_out(receipt.pane_head(receipts, now), width)
            room = request.rows - TABS - len(shown["head"]) - len(shown["operations"]) - len(saved)
            shown["lines"] = text.laid_out(receipt.pane_lines(receipts, now, width, room, COMMAND), width) + saved
        if shown["page"] == BILL:
            data = self.native.data("bill", now)
            lines = text.wrap(str(data["error"])) if "error" in data else bill.lines_of(data, now, details=True, most=_MOST_KINDS)
            shown["lines"] = text.laid_out([*self._limits(site, current, now), *lines], width)
            shown["operations"] = [] if "error" in data else offers.to_json(offers.of_bill(data, now))
        if shown["page"] == SETTINGS:
            lines, settings = self._settings(site, now)
            shown["lines"], shown["operations"] = text.laid_out(lines, width), offers.to_json(settings)
        if site.data_rules:
            shown["lines"] = [*text.laid_out(text.wrap(site.rules_in_words()), width), "", *shown["lines"]]
        if site.stands_still:
            shown["operations"] = []
        worth = not site.stands_still and is_worth_a_word(current["verdict"], current["context"], view.rules.thresholds["critical"])
        band = {"text": phrases.notice(current)} if worth else None
        offered = offers.to_json([offer for offer in offers.of_context(current) if offer.id == "clear"])
        context = current["context"]
        left = context["cache_seconds_left"] if context else 0
        return {
            "band": band and {**band, "operations": offered},
            "line": phrases.sum_line(current),
            "pane": shown,
            "cache_until": round((now + left) * 1000) if left else None,
            "toast": self.misses.notice(view.rules.models) or (_toast(site, current, now) if request.turn_ended else ""),
            **({"compact": True} if self._leaves_by_itself(site, cold_now, view.state.index) else {}),
        }

    def _leaves_by_itself(self, site: Site, cold_now: CompactsCold, calls: int) -> bool:
        """Begin a compaction without a question, once for each state of the conversation; return whether that has begun."""
        if cold_now["setting"] != "on" or not cold_now["tokens"] or self.compactions.wanted is not None or self.left_at == calls:
            return False
        self.left_at = calls
        self.compactions.when_cold(cold_compaction.target(site), cold_now["least"])
        return self.compactions.begin()

    def _limits(self, site: Site, current: Report, now: float) -> list[text.Line]:
        """Return the lines on what used the windows of the plan, and how fast; [] where none runs."""
        if not windows(client_reports.readings(site.home), now):
            return []
        data = self.native.data("limits", now)
        return amounts.limits_pane_lines(data, current["context"]["model"] if current["context"] else "", now)

    def _spent(self) -> list[text.Line]:
        return [] if self.usd is None else text.wrap(f"Claude Code counts ${self.usd:,.2f} for the whole session so far.")

    def _settings(self, site: Site, now: float) -> tuple[list[text.Line], list[Offer]]:
        """Return (lines on what a person may switch on and off in this session, the offers)."""
        warmth = switches.kept_warm(site, self.transcript_path, now)
        if is_kept(site.session_id):
            return cache.show_lines(warmth, COMMAND), []
        self.native.look()
        title = text.title("Keeping the prompt cache warm")
        lines = [*title, cache.pane_line(warmth), *cache.sum_lines(warmth), "", *self.native.text.split("\n")]
        return lines, [*offers.of_warmth(warmth), *self.native.offers()]

    def answer(self, words: str, site: Site, now: float, columns: int) -> str:
        """Return the answer to `/popkit WORDS`."""
        if words.split()[:1] == ["native"]:
            return _NOT_NATIVE if is_kept(site.session_id) else self.native.answer(words)
        if words.split()[:1] in (["bill"], ["try-out"]):
            return self.native.run(words)
        held = site.rules_in_words() + "\n\n" if site.stands_still else ""
        called = COMMAND if is_kept(site.session_id) else context_words.COMMAND
        return held + context_words.answer(words, site, self.transcript_path, now, self.compactions, text.width_of(columns), called)

    def press(self, id: str, site: Site, now: float, columns: int) -> str:
        """Run the offer with this id and return its result as text; "" for an unknown one."""
        word, _, rest = id.partition(" ")
        if word not in offers.WORDS:
            return ""
        return self._whole(rest, site, now, columns) if word == "show" else self.answer(id, site, now, columns)

    def _whole(self, name: str, site: Site, now: float, columns: int) -> str:
        """Return the archived content of a result (T12) for a person. It is not booked as restored, as Claude does not see it."""
        current = report.build(outlook.look(site, self.transcript_path, now))
        try:
            row = request.find_result(current, name)
            handle = report.handle_of(row)
            with access.Opened(site.home) as db:
                record = archive.record(db, handle)
                printed = receipt.printed_lines(restoring.printed(db, [record])) if record else ["It is not in the archive."]
        except (request.NotFound, access.Refused) as error:
            return f"PopKit: {error}"
        width = text.width_of(columns)
        lines = text.laid_out(printed, width)
        more = len(lines) - _SHOWN_LINES
        if more > 0:
            lines = [*lines[:_SHOWN_LINES], f"… {more:,} more lines: popkit restore {handle}"]
        return "\n".join([f"{phrases.title(row, width)}, all of it:", *map(text.visible, lines)])


def _toast(site: Site, current: Report, now: float) -> str:
    """Return the notice of how much was kept out, once a session and once that is worth a word; "" otherwise. Claude does not see it."""
    kept_out = current["figures"].get("kept_out_tokens", 0)
    if kept_out < _WORTH_TELLING or not site.claim("kept_out_told", now):
        return ""
    return f"kept {text.tokens(kept_out).removeprefix('~')} tokens out of this session"


def _saved(site: Site, current: Report, now: float) -> list[text.Line]:
    """Return the worth of PopKit, in this session and on this machine."""
    reconciling.catch_up(site, current["transcript"])
    worth = tracker.worth(tracker.all_metrics(site.home), now)
    lines = [*text.title("Saved"), *text.wrap(amounts.headline(worth), indent="  ")]
    if current["figures"]:
        lines += text.wrap(amounts.ledger_in_words(current["figures"]), indent="  ")
    if figures.is_anything(worth["installed"]):
        lines += ["", *amounts.ledger_table(worth)]
    return [*lines, "", *text.wrap(f"By session, project and cause: {COMMAND} stats --details")]


def page(name: str, report: Report, chosen: str, width: int, rows: int, question: str = "", full: str = "") -> dict[str, Any]:
    """Return `pages`, the `page` that is shown, its `head` (lines above the offers) and `lines`, `choices` (None for none) and
    `operations`, the offers. `chosen`: the id of the selected result; `width`, `rows`: columns and rows of the pane; `question`: about
    compacting when the cache is cold, "" for none; `full`: how full the plan's limits are, "" where that is unknown. A report has neither
    savings, bill nor settings: their pages have no lines here. Pure."""
    shown = name if name in TITLES else NOW
    row = next((row for row in report["results"] if row["id"] == chosen), None)
    offered: list[Offer] = offers.of_context(report)
    choices: dict[str, Any] | None = None
    head: list[str] = []
    if shown == RESULTS:
        lines, choices = _results(report, row, width)
        offered = offers.of_result(row, not report["doubt"]) if row else []
    elif shown in (SAVED, BILL, SETTINGS):
        lines, offered = [], [offer for offer in offered if offer.id == "undo" and shown == SAVED]
    else:
        head = text.laid_out(panel.pane_head(report), width)
        offered = [offer._replace(sum=_CLEARED) if offer.id == "clear" else offer for offer in offered] + offers.of_cold(question)
        lines = text.laid_out(panel.pane_lines(report, width, rows - TABS - len(head) - len(offered), full), width)
    return {
        "pages": [{"id": id, "label": label, "key": key} for id, (label, key) in TITLES.items()],
        "page": shown,
        "head": head,
        "lines": lines[1:] if lines and not lines[0] else lines,
        "choices": choices,
        "operations": offers.to_json(offered),
    }


def _results(report: Report, row: ResultRow | None, width: int) -> tuple[list[str], dict[str, Any] | None]:
    """Return (lines that explain the chosen result, then the timeline; the results that can be chosen, the newest first)."""
    lines = text.laid_out(history.timeline_lines(report, folds=True), width)
    newest = report["results"][: -history.LAST - 1 : -1]
    if not newest:
        return lines, None
    options = [{"value": one["id"], "label": f"{phrases.number(one)} {phrases.label(one, _LABEL)}"} for one in newest]
    if row is None:
        return lines, {"options": options, "value": ""}
    if row not in newest:
        options.append({"value": row["id"], "label": f"{phrases.number(row)} {phrases.label(row, _LABEL)}"})
    return [*text.laid_out(results.why(report, row, command=COMMAND)[1:], width), *lines], {"options": options, "value": row["id"]}
