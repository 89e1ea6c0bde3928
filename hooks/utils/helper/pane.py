"""Answer a person's requests to the mod, in the band above the prompt or in the live pane. The mod adds no rule of its own."""

from __future__ import annotations

from .. import archive, text, units
from ..hosts import IN_CLIENT, is_kept, kept_by, name_of
from ..operations import OF_SHELL, context_words, names, offers
from ..policy.limits import windows
from ..reclaim import access, outlook, restoring
from ..state import limit_readings
from ..views import bill, compacting, phrases, plan_limits, report, restored
from .drawing import BILL, SETTINGS, drawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..operations.offers import Offer
    from ..state.site import Site
    from ..views.shapes import AutoCompaction
    from .commands import Commands
    from .compactions import Compactions
    from .drawing import Drawing, PaneRequest
    from .prompt_cache import Misses
    from .reported import ClientReports

_WORTH_TELLING = 10_000  # tokens that were kept out
_MOST_KINDS = 5  # rows of what the conversations on a bill were made of
_SHOWN_LINES = 400  # of a content, in the pane


class Pane:
    """The band and the pane of one session. `commands`: runs of others in processes of their own; `compactions`: where requests wait
    until the host compacts; `misses`: what its prompt cache loses; `reported`: what the client says of the session."""

    def __init__(self, transcript_path: str, commands: Commands, compactions: Compactions, misses: Misses, reported: ClientReports) -> None:
        self.transcript_path = transcript_path
        self.commands = commands
        self.compactions = compactions
        self.misses = misses
        self.reported = reported
        self.left_at = -1  # calls of the conversation when results last left it by themselves

    def view(self, site: Site, request: PaneRequest, now: float) -> dict[str, object]:
        """Return `band`: what to do now, None for nothing · `pane`: a page, as `page` returns it · `cache_until`: when the cache goes cold
        (milliseconds), None when it is · `toast`: a notice of a lost cache or of the end of a turn, "" for none · `status`:
        the line under the prompt, "" where the person has not asked for it."""
        width = text.width_of(request.columns)
        drawing = drawn(site, self.transcript_path, request, self.reported.usd, now)
        shown = drawing["pane"]
        if shown["page"] == BILL:
            data = self.commands.data("bill", now)
            lines = text.wrap(str(data["error"])) if "error" in data else bill.lines_of(data, now, details=True, most=_MOST_KINDS)
            shown["lines"] = text.laid_out([*self._limits(site, now), *lines], width)
            shown["operations"] = [] if "error" in data else offers.to_json(offers.of_bill(data, now))
        if shown["page"] == SETTINGS:
            lines, settings = self._settings(site, drawing["cold"])
            shown["lines"], shown["operations"] = text.laid_out(lines, width), offers.to_json(settings)
        if site.data_rules:
            shown["lines"] = [*text.laid_out(text.wrap(site.rules_in_words()), width), "", *shown["lines"]]
        if site.stands_still:
            shown["operations"] = []
        lost = self.misses.notice(site.rules().models)
        return {
            **{name: drawing[name] for name in ("band", "line", "status", "pane", "cache_until")},
            "toast": lost or (_toast(site, drawing["kept_out"], now) if request.turn_ended else ""),
            **({"compact": True} if self._leaves_by_itself(drawing, request.turn_ended) else {}),
        }

    def _leaves_by_itself(self, drawing: Drawing, turn_ended: bool) -> bool:
        """Begin what a clear would do without a question, once for each state of the conversation, with a warm cache only as a turn ends;
        return whether that has begun."""
        current, calls = drawing["cold"], drawing["calls"]
        share = drawing["share"]
        if current["setting"] != "on" or not current["tokens"] or share is None or current["stays"] >= 1:
            return False
        if self.compactions.wanted is not None or self.left_at == calls or not (current["is_cold"] or turn_ended):
            return False
        self.left_at = calls
        self.compactions.by_itself(drawing["ids"], max(share, current["stays"]), drawing["least"], current["is_cold"])
        return self.compactions.begin()

    def _limits(self, site: Site, now: float) -> list[text.Line]:
        """Return the lines on what used the windows of the plan, and how fast; [] where none runs."""
        if not windows(limit_readings.readings(site.home), now):
            return []
        data = self.commands.data("bill limits", now)
        return [] if "error" in data else plan_limits.limits_pane_lines(data, now)

    def _settings(self, site: Site, cold_now: AutoCompaction) -> tuple[list[text.Line], list[Offer]]:
        """Return (lines on what a person may switch on and off in this session, the offers)."""
        if is_kept(site.session_id):
            return text.wrap(kept_by(name_of(site.session_id)) + "."), []
        return compacting.auto_lines(cold_now, IN_CLIENT), offers.of_switch(cold_now["setting"])

    def answer(self, words: str, site: Site, now: float, columns: int) -> str:
        """Return the answer to `/popkit WORDS`."""
        first, _, rest = words.partition(" ")
        if first == "help" and rest.strip() in OF_SHELL:
            return self.commands.run(f"{rest.strip()} --help")
        if first in OF_SHELL:
            return self.commands.run(words)
        held = site.rules_in_words() + "\n\n" if site.stands_still else ""
        return held + context_words.answer(words, site, self.transcript_path, now, self.compactions, text.width_of(columns), IN_CLIENT)

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
            row = names.find_result(current, name)
            handle = report.handle_of(row)
            with access.OpenArchive(site.home) as db:
                record = archive.record(db, handle)
                printed = restored.printed_lines(restoring.printed(db, [record])) if record else ["It is not in the archive."]
        except (names.ResultNotFound, access.ClearRefused) as error:
            return f"PopKit: {error}"
        width = text.width_of(columns)
        lines = text.laid_out(printed, width)
        more = len(lines) - _SHOWN_LINES
        if more > 0:
            lines = [*lines[:_SHOWN_LINES], f"… {units.counted(more, 'more line')}: popkit restore {handle}"]
        return "\n".join([f"{phrases.title(row, width)}, all of it:", *map(text.visible, lines)])


def _toast(site: Site, kept_out: float, now: float) -> str:
    """Return the notice of how much was kept out, once a session and once that is worth a word; "" otherwise. Claude does not see it."""
    if kept_out < _WORTH_TELLING or not site.claim("kept_out_told", now):
        return ""
    return f"kept {units.tokens(kept_out).removeprefix('~')} tokens out of this session"
