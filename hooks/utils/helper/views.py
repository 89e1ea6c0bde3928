"""What the mod draws: the band above the prompt and the live pane. Words and deeds; the mod adds no rule."""

from __future__ import annotations

from .. import archive, text
from .. import efficiency_tracker as tracker
from ..operations import arguments, context, offers, receipts
from ..operations import cache as caches
from ..policy import figures
from ..policy.verdict import is_worth_a_word
from ..reclaim import access, outlook, restoring
from ..state import settling
from ..views import cache, ledgers, phrases, putback, receipt, report
from . import pages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..state.site import Site
    from ..views.report_shapes import Report
    from ..views.shapes import CompactsCold
    from .compactions import Compactions
    from .native import Native

_NARROWEST = 20
_MOST_TOKENS = 10**9
_FOLD = "    "  # before what of a line of the pane has no room
_WORTH_TELLING = 10_000  # tokens that were kept out
_SHOWN_LINES = 400  # of a content, in the pane


class Asked:
    """What the pane shows now: `page`, the id of the result `chosen` on it, and its `columns` and `rows`; whether a turn has just
    ended."""

    __slots__ = ("chosen", "columns", "page", "rows", "turn_ended")

    def __init__(self, page: str, chosen: str, columns: int, rows: int, turn_ended: bool) -> None:
        self.page = page
        self.chosen = chosen
        self.columns = max(_NARROWEST, columns)
        self.rows = rows
        self.turn_ended = turn_ended


class Views:
    """The views of one session. `native`: clearing by the provider, which is asked in a process of its own; `compactions`: where what is
    asked for waits until the host compacts."""

    def __init__(self, transcript_path: str, native: Native, compactions: Compactions) -> None:
        self.transcript_path = transcript_path
        self.native = native
        self.compactions = compactions
        self.left_at = -1  # calls of the conversation when results last left it by themselves
        self.usd: float | None = None  # what the session has cost so far, as the client counts

    def told(self, site: Site, usage: object) -> None:
        """What the client says of the session: {`window`: tokens, `usd`}; what is none of these is passed over."""
        if not isinstance(usage, dict):
            return
        window, usd = usage.get("window"), usage.get("usd")
        if type(window) is int and 0 < window < _MOST_TOKENS and site.session.get("window_tokens") != window:
            site.remember(window_tokens=window)
        if isinstance(usd, (int, float)) and not isinstance(usd, bool) and 0 <= usd < _MOST_TOKENS:
            self.usd = usd

    def view(self, site: Site, asked: Asked, now: float) -> dict[str, Any]:
        """`band`: what to do now, None for nothing · `pane`: a page (pages.py) · `cache_until`: when the cache goes cold (milliseconds),
        None when it is · `toast`: what is told in passing at the end of a turn, "" for nothing. There is no line for the prompt's foot:
        the client draws what stands there as a warning."""
        width = text.width_of(asked.columns, text.NARROWEST_PANE)
        looked = outlook.look(site, self.transcript_path, now)
        found = report.build(looked)
        cold_now = caches.compacts_cold(site, looked)
        shown = pages.page(asked.page, found, asked.chosen, width, asked.rows, cache.cold_question(cold_now))
        if shown["page"] == pages.SAVED:
            saved = text.laid_out([*_saved(site, found, now), *self._spent()], width)
            gone = receipts.look(site, found)
            shown["head"] = text.laid_out(receipt.pane_head(gone, now), width)
            room = asked.rows - pages.TABS - len(shown["head"]) - len(shown["deeds"]) - len(saved)
            shown["lines"] = text.laid_out(receipt.pane_lines(gone, now, width, room, pages.COMMAND), width) + saved
        if shown["page"] == pages.SETTINGS:
            self.native.look()
            kept = caches.kept_warm(site, self.transcript_path, now)
            title = text.title("Keeping the prompt cache warm")
            lines = [*title, cache.pane_line(kept), *cache.sum_lines(kept), "", *self.native.text.split("\n")]
            shown["lines"] = text.laid_out(lines, width)
            shown["deeds"] = offers.to_json([*offers.of_warmth(kept), *self.native.deeds()])
        worth = is_worth_a_word(found["verdict"], found["context"], looked.rules.thresholds["critical"])
        shown["lines"] = text.laid_out([part for line in shown["lines"] for part in text.folded(line, _FOLD)], width)
        band = {"text": phrases.unasked(found)} if worth else None
        offered = offers.to_json([deed for deed in offers.of_context(found) if deed.id == "clear"])
        context = found["context"]
        left = context["cache_seconds_left"] if context else 0
        return {
            "band": band and {**band, "deeds": offered},
            "pane": shown,
            "cache_until": round((now + left) * 1000) if left else None,
            "toast": _toast(site, found, now) if asked.turn_ended else "",
            **({"compact": True} if self._leaves_by_itself(cold_now, looked.state.index) else {}),
        }

    def _leaves_by_itself(self, cold_now: CompactsCold, calls: int) -> bool:
        """Whether dead results leave now, without a word: once for each state of the conversation."""
        if cold_now["setting"] != "on" or not cold_now["ids"] or self.compactions.wanted is not None or self.left_at == calls:
            return False
        self.left_at = calls
        self.compactions.when_cold(cold_now["ids"])
        return self.compactions.begin()

    def _spent(self) -> list[text.Line]:
        return [] if self.usd is None else text.wrap(f"Claude Code counts ${self.usd:,.2f} for the whole session so far.")

    def answer(self, words: str, site: Site, now: float, columns: int) -> str:
        """The answer to `/popkit WORDS`."""
        if words.split()[:1] == ["native"]:
            return self.native.answer(words)
        return context.answer(words, site, self.transcript_path, now, self.compactions, text.width_of(columns))

    def press(self, id: str, site: Site, now: float, columns: int) -> str:
        """What a deed came to, in words; "" for one that is none."""
        word, _, rest = id.partition(" ")
        if word not in offers.WORDS:
            return ""
        return self._whole(rest, site, now, columns) if word == "show" else self.answer(id, site, now, columns)

    def _whole(self, name: str, site: Site, now: float, columns: int) -> str:
        """The archived content of a result (T12), for a person: it is booked as restored nowhere, as Claude does not see it."""
        found = report.build(outlook.look(site, self.transcript_path, now))
        try:
            row = arguments.find(found, name)
            handle = report.handle_of(row)
            with access.Opened(site.home) as db:
                record = archive.record(db, handle)
                printed = putback.printed_lines(restoring.printed(db, [record])) if record else ["It is not in the archive."]
        except (arguments.NotFound, access.Refused) as error:
            return f"PopKit: {error}"
        width = text.width_of(columns)
        lines = text.laid_out(printed, width)
        more = len(lines) - _SHOWN_LINES
        if more > 0:
            lines = [*lines[:_SHOWN_LINES], f"… {more:,} more lines: popkit restore {handle}"]
        return "\n".join([f"{phrases.title(row, width)}, all of it:", *map(text.visible, lines)])


def _toast(site: Site, found: Report, now: float) -> str:
    """What a person is told once a session and in passing: how much was kept out, once that is worth a word. Claude is not told."""
    kept_out = found["figures"].get("kept_out_tokens", 0)
    if kept_out < _WORTH_TELLING or not site.claim("kept_out_told", now):
        return ""
    return f"kept {text.tokens(kept_out).removeprefix('~')} tokens out of this session"


def _saved(site: Site, found: Report, now: float) -> list[text.Line]:
    """What PopKit was worth: in this session, and on this machine."""
    settling.catch_up(site, found["transcript"])
    worth = tracker.worth(tracker.all_metrics(site.home), now)
    lines = [*text.title("Saved"), *text.wrap(ledgers.headline(worth), indent="  ")]
    if found["figures"]:
        lines += text.wrap(ledgers.in_words(found["figures"]), indent="  ")
    if figures.is_anything(worth["installed"]):
        lines += ["", *ledgers.table(worth)]
    return [*lines, "", *text.wrap(f"By session, project and cause: {pages.COMMAND} stats --details")]
