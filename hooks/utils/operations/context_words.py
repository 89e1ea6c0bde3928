"""Answer the words after /popkit:context. A mistake of the user is an answer too."""

from __future__ import annotations

import os
import time

from .. import flag_parser, text
from ..hosts import COMMAND, IN_CLIENT, is_kept, kept_by, protocol
from ..reclaim import access, restoring
from ..state import journal, stale_ledgers
from ..views import losses, memory_in_session, one_result, pinning, receipt
from ..views import panel as views
from . import CONTEXT, auto_switch, compaction_losses, memory_switch
from .changers import WITHOUT
from .help_text import help_lines, of_shell_lines
from .names import ResultNotFound, UnknownName, find_result, pin_target, profile_target, unpin_target
from .receipts import find_receipt, receipts_of, receipts_of_agents
from .request import Answer, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..efficiency_tracker import EfficiencyMetrics
    from ..policy.shapes import Period
    from ..state.receipts import Receipt
    from ..state.site import Site
    from ..views.shapes import CompactionLosses, Report
    from .changers import Changer


def answer(
    words: str, site: Site, transcript_path: str, now: float, in_place: Changer = WITHOUT, width: int = text.WIDTH, command: str = COMMAND
) -> str:
    """Return the text that answers `/popkit:context WORDS` in the session of a Site. `in_place`: who changes the conversation; `width`:
    columns of a line; `command`: how the reader calls us."""
    try:
        parsed = flag_parser.parse(split(words), CONTEXT, shell=False)
        reply = respond(parsed, site, transcript_path, now, command, in_place)
    except flag_parser.UsageError as error:
        return "\n".join(text.laid_out([*_mistake(str(error)).lines, "", f"{command} help lists all words."], width))
    if "json" in parsed.flags and not reply.error:
        return "\n" + text.as_json(reply.data)
    if parsed.former:
        renaming = flag_parser.renaming(f"{command} {parsed.former}", f"{command} {CONTEXT.renamed[parsed.former]}")
        reply.lines += ["", *text.wrap(renaming)]
    return "\n".join(text.laid_out(reply.lines, width))


def split(words: str) -> list[str]:
    """Return the words of a line as a shell would see them; split at blanks where the quotes do not match."""
    import shlex

    try:
        return shlex.split(words)
    except ValueError:
        return words.split()


def respond(parsed: flag_parser.Words, site: Site, transcript_path: str, now: float, command: str, in_place: Changer = WITHOUT) -> Answer:
    """Return the answer to parsed words; UsageError where they contradict each other. `command`: how the reader calls us; `in_place`: see
    `answer`."""
    try:
        return CONTEXT.function(parsed.operation)(Request(parsed, site, transcript_path, now, command, in_place))
    except (ResultNotFound, UnknownName, access.ClearRefused, restoring.ContentNotFound) as error:
        return _mistake(str(error))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _mistake(where + (error.strerror or str(error)))


def _mistake(message: str) -> Answer:
    message = text.clean(message)
    return Answer(["", *text.wrap("PopKit: " + message)], {"error": message}, message)


def retention(request: Request) -> Answer:
    chosen = _profile_of(request.flags)
    lines: list[text.Line] = []
    if chosen:
        target = profile_target(chosen)
        request.look()
        request.site.remember(profile=target)
        current = request.change([journal.profile_chosen(target, request.now)])
        lines = ["", *text.wrap(views.profile_chosen(target, current["profile"]))]
    current = request.report()
    if "json" not in request.flags and not request.site.only_reads:
        lines += memory_switch.mark_lines(request.site, request.command, request.now) + memory_switch.alert_lines(
            request.site, request.command
        )
    from ..state import prompt_contents

    site = request.site
    contents = prompt_contents.contents_of(site.home, site.session_project, request.transcript_path)
    lines += views.panel(current, "details" in request.flags, "all" in request.flags, request.command, contents)
    return Answer(lines, {**current, "contents": contents})


def _profile_of(flags: dict[str, str]) -> str:
    names: list[str] = [name for name in ("aggressive", "conservative") if name in flags]
    names += [flags["profile"]] if "profile" in flags else []
    if len(names) > 1:
        raise flag_parser.UsageError("choose one profile, not " + " and ".join(names))
    return names[0] if names else ""


def timeline(request: Request) -> Answer:
    last: int | None = None if "all" in request.flags else request.flags["last"]
    current = request.report()
    rows = current["results"]
    data = {"session": current["session"], "calls": current["calls"], "results": rows if last is None else rows[-last:]}
    from ..views import timeline

    return Answer(timeline.timeline_lines(current, last), data)


def why(request: Request) -> Answer:
    report = request.report()
    left = receipts_of(request.site, report)
    if not request.arguments:
        of_agents = receipts_of_agents(request.site)
        everything = "all" in request.flags
        lost = _lost(request, everything)
        shown = receipt.lines(left, of_agents, request.now, everything, request.command)
        if lost:
            shown += losses.lines(lost, everything, losses.hints(lost[0]))
        return Answer(shown, {"receipts": left, "agents": of_agents, "lost": lost})
    match = find_receipt(left, request.arguments[0])
    try:
        row = find_result(report, request.arguments[0])
    except ResultNotFound:
        if match is None:
            raise
        return Answer(receipt.why_lines(*match, request.now, request.command), {**match[1], "receipt": _brief(match[0])})
    if match is None or row["state"] != "cleared":
        return Answer(one_result.why(report, row, request.command), row)
    when = receipt.when(match[0], request.now)
    return Answer(one_result.why(report, row, request.command, when), {**row, "receipt": _brief(match[0])})


def _lost(request: Request, everything: bool) -> list[CompactionLosses]:
    """Return what compactions lost, of all that are in the transcript or of the newest, with fewer rows."""
    rebuilt = request.look().rebuilt
    if rebuilt is None or not rebuilt.index.compactions:
        return []
    most = compaction_losses.ROWS if everything else compaction_losses.FEW_ROWS
    return compaction_losses.of_transcript(request.transcript_path, request.site.home, most, not everything, rebuilt.index)


def _brief(whole: Receipt) -> dict[str, object]:
    """Return a receipt without its calls."""
    return {name: value for name, value in whole.items() if name != "calls"}


def pin(request: Request) -> Answer:
    before = request.report()
    targets = [pin_target(before, word) for word in request.arguments]
    after = request.change([journal.pinned(target, request.now) for target in targets if target not in before["pins"]])
    return Answer(pinning.pinned_lines(before, after, targets, request.command), _pins_data(after, targets))


def unpin(request: Request) -> Answer:
    before = request.report()
    targets = [unpin_target(before, word) for word in request.arguments]
    after = request.change([journal.unpinned(target, request.now) for target in targets])
    return Answer(pinning.unpinned_lines(after, targets), _pins_data(after, targets))


def _pins_data(after: Report, targets: list[str]) -> dict[str, Any]:
    return {"targets": targets, "pins": after["pins"], "held": [row["id"] for row in after["results"] if row["pinned_by"]]}


def stats(request: Request) -> Answer:
    from .. import efficiency_tracker as tracker
    from ..views import stats

    site = request.site
    state = request.look().state
    behind = 0 if site.only_reads else stale_ledgers.catch_up(site, request.transcript_path)
    contexts = tracker.context_metrics(site.home, site.session_id)
    tracked = "" in contexts or not site.stands_still
    if site.stands_still:  # it is not stored
        contexts[""] = tracker.metrics_of(state.counts, state.calibration)
    session, project = tracker.of_session(contexts.values()), tracker.project_metrics(site.home, site.session_project)
    everywhere = tracker.all_metrics(site.home)
    worth, dated = tracker.worth(everywhere, request.now), site.rules().models.dated
    data = {
        "session": session.to_json(),
        "project": project.to_json(),
        "all": everywhere.to_json(),
        "worth": worth,
        "prices_dated": dated,
        "behind": behind,
        "contexts": {agent: metrics.to_json() for agent, metrics in contexts.items()},
    }
    if "card" in request.flags:
        return _card(request.flags["card"], everywhere, worth, dated, request.now, data)
    shown = contexts if "details" in request.flags else None
    return Answer(stats.stats_lines((session, project, everywhere), worth, dated, behind, shown, tracked), data)


def _card(path: str, everywhere: EfficiencyMetrics, worth: dict[str, Period], dated: str, now: float, data: dict[str, Any]) -> Answer:
    """Write the card of all sessions. UsageError where the file is of another kind, or there and no card."""
    from ..io import files
    from ..views import card

    kind = os.path.splitext(path)[1].lower()
    if kind not in (card.SVG, card.MARKDOWN):
        raise flag_parser.UsageError(f"--card writes {card.SVG} or {card.MARKDOWN}, not {text.clean(path)}")
    path = os.path.abspath(path)
    if not os.path.isdir(os.path.dirname(path)):
        raise flag_parser.UsageError(f"there is no folder {text.clean(os.path.dirname(path))}")
    if os.path.lexists(path) and card.MARK not in (files.read_text(path, 1 << 16) or ""):
        raise flag_parser.UsageError(f"{text.clean(path)} already exists and is not a card. Name another file")
    day = time.strftime("%Y-%m-%d", time.localtime(now))
    files.replace_text(path, card.card(kind, everywhere.figures, worth, everywhere.sessions, day, dated), 0o644)
    return Answer(card.written_lines(path), {**data, "card": path})


def auto(request: Request) -> Answer:
    from ..reclaim import auto_compaction
    from ..views import compacting

    act = request.arguments[0] if request.arguments else "show"
    if act == "on" and is_kept(request.site.session_id):
        raise access.ClearRefused(kept_by(protocol.of(request.site.session_id).NAME))
    if act != "show":
        auto_compaction.choose(request.site, act == "on")
    cold = auto_switch.auto_compaction_of(request.site, request.look())
    lines = compacting.auto_lines(cold, request.command)
    if act != "show" and cold["setting"] != act:
        lines += text.wrap(f"Your configuration says compact_when_cold: {cold['setting']}, which decides.")
    return Answer(lines, cold)


def memory(request: Request) -> Answer:
    words = [word for word in request.arguments if word != "--json"]
    if words in (["on"], ["off"]):
        switched = memory_switch.turn(words == ["on"], request.site, request.now)
        as_json = len(words) < len(request.arguments)
        return Answer(["", text.as_json(switched)] if as_json else memory_in_session.turned_lines(switched, request.command), switched)
    code, output, errors = memory_switch.ask(request.arguments, request.site, request.command)
    lines = memory_in_session.terminal_lines("\n".join(filter(None, (output, errors))))
    return Answer(["", *lines], {"output": output}, (errors or output or "popkit memory failed") if code else "")


def help_answer(request: Request) -> Answer:
    name = request.arguments[0] if request.arguments else ""
    lines = help_lines(name, request.command, CONTEXT, not request.command.startswith("/"))
    return Answer(lines if name or request.command != IN_CLIENT else [*lines, *of_shell_lines()])
