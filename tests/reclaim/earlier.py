"""What earlier versions did to clear a session: they archived results, and put placeholders into the transcript, in one clear that an undo
took back. Transcripts that hold such placeholders are understood for good."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from popkit_retention.core import archive, flag_parser
from popkit_retention.core.hosts.transcripts import entries
from popkit_retention.core.hosts.transcripts.blocks import text_of_blocks
from popkit_retention.core.hosts.transcripts.spans import content_spans
from popkit_retention.core.operations import CONTEXT, context_words
from popkit_retention.core.operations.names import ResultNotFound, find_result
from popkit_retention.core.policy import events
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.occasions import CLEARED_BY_USER
from popkit_retention.core.policy.placeholder import NO_HANDLE, beside, handle_in, placeholder, why, with_outline
from popkit_retention.core.policy.plans import Plan, Selection
from popkit_retention.core.reclaim import access, outlook
from popkit_retention.core.reclaim.contents import stamp_of
from popkit_retention.core.state import journal, noting, receipts, reconciling, removals, store
from popkit_retention.core.state.archived import content_of
from popkit_retention.core.state.rebuild import Rebuild
from popkit_retention.core.state.site import Site
from popkit_retention.core.units import chance
from popkit_retention.core.views import report
from tests.archive.written import add_cleared


@dataclass
class Prospect:
    """The context, and the plan of a clear over it."""

    rebuilt: Rebuild
    plan: Plan


@dataclass
class Cleared:
    """id of a result -> the handle in its placeholder; the tokens that left."""

    handles: dict[str, str] = field(default_factory=dict)
    tokens: int = 0


def prospect(site: Site, transcript: str, now: float, asked: Selection) -> Prospect:
    rebuilt = reconciling.reconcile(site, transcript, now=now)
    plan = outlook.plan_of(rebuilt.conversation, asked, now, goal=outlook.goal_of(site, rebuilt))
    access.check_understood(rebuilt.index, [result.id for result in plan.going])
    return Prospect(rebuilt, plan)


def clear(site: Site, transcript: str, now: float, asked: Selection) -> tuple[Prospect, Cleared | None]:
    """Clear what is asked for, where that pays or was to be done now."""
    found = prospect(site, transcript, now, asked)
    if not found.plan.going or not (found.plan.pays or asked.now):
        return found, None
    return found, _clear(site, transcript, now, found)


def _clear(site: Site, transcript: str, now: float, found: Prospect) -> Cleared:
    rebuilt, plan, asked = found.rebuilt, found.plan, found.plan.selection
    state, rules = rebuilt.state, rebuilt.conversation.rules
    going = {result.id: result for result in plan.going}
    lines, records, texts = [], [], {}
    for begin, line in entries.lines(transcript):
        spans = content_spans(line) if b'"tool_result"' in line and begin >= rebuilt.index.since else {}
        for id, (start, end) in reversed(spans.items()):
            if id not in going or id not in rebuilt.index.calls:
                continue
            result, content = going[id], line[start:end].decode()
            outline = beside(result, text_of_blocks(json.loads(content))[0], rules)
            text = with_outline(
                placeholder(result.label, why(result, None if asked.forces else state.quiet_age(result)), NO_HANDLE), outline
            )
            size = round(result.tokens * state.calibration)
            handle = archive.handle_of(access.chain_of(site, transcript), id, content)
            records.append(archive.NewRecord(id, result.kind, result.label, content, stamp_of(result.at), result.subjects, size))
            texts[id] = max(0, size - estimate_tokens(text))
            new = text.replace(NO_HANDLE, handle, 1)
            line = line[:start] + json.dumps(new, ensure_ascii=False).encode() + line[end:]
        lines.append(line)
    with access.OpenArchive(site.home, create=True) as db:
        _, ids = add_cleared(db, access.chain_of(site, transcript), records, now)
    with Path(transcript).open("wb") as file:
        file.writelines(lines)
    done = Cleared({record.tool_use_id: handle for record, handle in zip(records, ids)}, sum(texts.values()))
    _note(site, plan, rebuilt, done, now)
    return done


class InPlace:
    """Does at once what is asked of a session, in its transcript; what is needed least stays there."""

    is_later = False

    def __init__(self, site: Site, transcript: str, now: float, asked: Selection) -> None:
        self.given = site, transcript, now
        self.asked = asked

    def clear(self, ids: Sequence[str], share: float | None = None, further: int = 0) -> None:
        found = prospect(*self.given, self.asked)
        assert (found.plan.ids, found.plan.share, found.plan.further) == (list(ids), share, further)
        _clear(*self.given, found)

    def put_back(self, handles: Sequence[str]) -> None:
        site, transcript, now = self.given
        with access.OpenArchive(site.home) as db:
            contents = {handle: content_of(db, handle) for handle in handles}
        lines, back = [], []
        for line in Path(transcript).read_bytes().splitlines(keepends=True):
            whole = line
            for id, (start, end) in reversed(content_spans(line).items()):
                content = contents.get(handle_in(json.loads(line[start:end])))
                if content is not None:
                    whole = whole[:start] + content.encode() + whole[end:]
                    back.append(id)
            lines.append(whole)
        Path(transcript).write_bytes(b"".join(lines))
        tokens = removals.cleared_tokens(store.read_lines(site.paths().journal), back)
        noting.note(site, site.paths(), [journal.undone(back, tokens, now), journal.put_back(list(handles), now)])

    def cancel(self) -> bool:
        return False


def answer(words: str, site: Site, transcript: str, now: float) -> str:
    """What the words are answered in a session in which this is how it is done."""
    try:
        parsed = flag_parser.parse(context_words.split(words), CONTEXT, shell=False)
    except flag_parser.UsageError:
        return context_words.answer(words, site, transcript, now)
    flags, ids = parsed.flags, ()
    if "id" in flags:
        rows = report.build(outlook.look(site, transcript, now))
        with suppress(ResultNotFound):
            ids = tuple(find_result(rows, word)["id"] for word in flags["id"].split(",") if word)
    pattern = parsed.arguments[0] if parsed.arguments else ""
    asked = Selection(flags.get("tier", ""), ids, pattern, "now" in flags) if parsed.word == "clear" else Selection()
    return context_words.answer(words, site, transcript, now, InPlace(site, transcript, now, asked))


def _note(site: Site, plan: Plan, rebuilt: Rebuild, done: Cleared, now: float) -> None:
    """Journal it, with the reason of each."""
    needs = {decision.result.id: decision.need for decision in plan.decisions if decision.need is not None}
    worth = "costs more to keep than to clear: a chance of {} that it is needed again"
    reasons = {id: worth.format(chance(needs[id])) for id in done.handles if id in needs}
    left = []
    for result in plan.going:
        if result.id in done.handles:
            ended = next(iter(result.reasons if result.ended else ()), "")
            recorded = ended or reasons.get(result.id, CLEARED_BY_USER)
            left.append(
                {
                    "id": result.id,
                    "number": result.index,
                    "label": result.label,
                    "tokens": round(result.tokens * rebuilt.state.calibration),
                    "left": [[receipts.RESULT, done.handles[result.id], recorded]],
                }
            )
    paths = site.paths()
    entry = journal.cleared(list(done.handles), done.tokens, reasons, now)
    noting.note(site, paths, [entry], events.Cleared(done.handles))
    store.append(paths, paths.receipts, receipts.noted(left, now))
