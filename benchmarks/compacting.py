"""What a compaction keeps of what is needed afterwards: the model-free one beside recorded summaries and what others do.

    python benchmarks/compacting.py --transcripts FOLDER [--kind auto] [--share N …] [--held-out] [--tune] [--again TOKENS]

For each automatic compaction in the recorded sessions, and wherever a prompt first passes 150,000 tokens, the conversation is rebuilt as it
stood. *Needs* are the strings (names, and lines of 20 characters and more) that the next 20 requests write and that stood somewhere in it;
printed is the share of these that still stands, as a mean over the compactions, at sizes of so much of the conversation (system and
tools apart), at the size of the recorded summary, and at the size of all that the host left: the summary and the files that it put back
beside it, by the usage of the next request. In brackets what a way really took, as a share of the conversation: words are never left
out, so a way that keeps them may not reach a small size. `--held-out` asks a model of need that has not seen the repository.

*recorded summary*: what the model wrote at that place · *and files put back*: with the files that were read last, as many as the usage
has room for, for transcripts of that time do not say which they were · *newest first*: whole messages from the end · *words, newest live*:
all that was said, then the newest calls whose results had not expired · *keep 3*: the provider's clear_tool_uses · *dedupe*: opencode-dcp's
rules · *ours*: policy/compacting.py, *met*: in how many of the cases it reached the size, to which the files that
were read last come · *oracle*: all that was said, then what holds most of the needs for its size,
whole calls only · *oracle by our rules*: the same behind all that ours leaves whole at any target ·
*oracle of lines*, *of lines, by our rules*: the same with single lines, without their calls ·
*ours worse than theirs*: in how many of the cases with a recorded summary ours keeps fewer of the needs than summary and files.

`--again`: each session is compacted whenever its prompt has grown by so many tokens, to 10,000 tokens each time, and goes on with what that
left; by the how many-th it is, the needs that still stand, tokens, the share of the target that lists take, and of words.

*Requests to the next compaction*: until the prompt is again what it was, if it grows by what that session's prompts grew by in each request
behind its compaction; medians.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

import held_out
import own_sessions
from lab import conversations
from lab.fitting import AHEAD

from popkit_retention.core.policy import compacting, events, left_names, lists, recent_files, ways
from popkit_retention.core.policy.estimate import estimate_tokens
from popkit_retention.core.policy.host_compaction import FILES
from popkit_retention.core.policy.list_text import handle_of_list
from popkit_retention.core.policy.messages import USER, Message, MessagesNotUnderstood, result_tokens, texts_in
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.tools import READ
from popkit_retention.core.state import shipped
from popkit_retention.lab.recorded import strings_of

SHARES = (0.1, 0.2, 0.4)
FEWEST_NEEDS = 5
KEPT_USES = 3
AGAIN_TOKENS, LAST = 10_000, 8
# Other values for the constants of policy/ways.py, recent_files.py, left_names.py and lists.py.
STEPS = {
    (ways, "_CALLS"): (5, 20), (ways, "_FALLS"): (0.5, 1.0), (ways, "_NEWEST_OF_FILE"): (1.0, 3.0), (ways, "_REPLACED"): (0.1, 0.4),
    (ways, "_INPUT"): (1.0, 2.0), (ways, "_SIZE"): (0.6, 0.9), (ways, "_OUTLINED"): (0.35, 0.65), (ways, "_NOTICED"): (0.05, 0.2),
    (ways, "_WRITTEN"): (0.9, 0.97), (recent_files, "_SHARE"): (0.0, 0.2), (left_names, "_SHARE"): (0.025, 0.045),
    (left_names, "_CALLS"): (64, 256), (left_names, "_HALVED"): (10, 40), (left_names, "_IN_INPUT"): (1, 6),
    (left_names, "_BESIDE"): (0, 10), (compacting, "LISTS_SHARE"): (0.2, 0.4), (lists, "_AROUND_SHARE"): (0.3, 0.7),
    (lists, "LISTED"): (6, 24),
}  # fmt: skip


class Case(NamedTuple):
    """One boundary of a recorded session: the conversation as messages, its fold, the model of what is needed soon, its tokens, what was
    needed, what came after."""

    path: Path
    kind: str
    messages: list[Message]
    conversation: Any
    soon: NeedModel
    tokens: int
    needs: set[str]
    after: conversations.After


def strings(messages: Iterable[Message]) -> set[str]:
    """All strings that messages show."""
    found: set[str] = set()
    for message in messages:
        found |= strings_of(message.text)
        for text in [text for use in message.uses for text in texts_in(use.input)] + [shown.text for shown in message.results]:
            found |= strings_of(text)
    return found


def cases(folder: Path, held_out_models: dict | None = None) -> list[Case]:
    """Every boundary of the sessions with enough needs behind it; each asks the model of what its repository needs soon, where some are
    given."""
    rules = shipped.rules()
    found = []
    for path in own_sessions.below(folder):
        soon = (held_out_models or {}).get(own_sessions.repository_of(path)) or shipped.need_soon_model()
        for boundary in conversations.boundaries(str(path)):
            after = conversations.after(str(path), boundary.begin, AHEAD)
            try:
                made, messages = conversations.before(str(path), boundary.begin, rules)
            except MessagesNotUnderstood as error:
                print(f"left out: {path.name}: {error}", file=sys.stderr)
                continue
            needs = after.written & strings(messages)
            if len(needs) < FEWEST_NEEDS:
                continue
            fold = made.conversation
            tokens = compacting.compact(messages, fold, soon, 1.0, _handle, only=()).before
            found.append(Case(path, boundary.kind, messages, fold, soon, tokens, needs, after))
    return found


Way = Callable[[Case, int], list[Message]]


def _handle(id: str, content: object) -> str:
    return "a" * 8


# --- ways to compact: Case, tokens that may stand -> messages that stand --------------------------------------------------------------


def ours(case: Case, room: int) -> list[Message]:
    """What stands after a model-free compaction."""
    return compacted(case, room).messages


def compacted(case: Case, room: int) -> compacting.CompactionResult:
    return compacting.compact(case.messages, case.conversation, case.soon, room / case.tokens, _handle)


def newest_first(case: Case, room: int) -> list[Message]:
    return _newest(case, reversed(_whole(case)), room)


def words_then_newest_live(case: Case, room: int) -> list[Message]:
    spoken = [part for part in _whole(case) if part.text]
    room -= sum(tokens_of(case, part) for part in spoken)
    dead = {result.id for result in case.conversation.results() if result.ended and not result.cleared}
    live = [part for part in _whole(case) if not part.text and not any(use.id in dead for use in part.uses)]
    return spoken + _newest(case, reversed(live), room, stop=False)


def keep_newest_uses(case: Case, _room: int) -> list[Message]:
    """The provider's clear_tool_uses: all results but those of the newest 3 uses."""
    parts = _whole(case)
    calls = [part for part in parts if part.uses]
    cleared = {id(part) for part in calls[:-KEPT_USES]}
    return [Message(part.role, part.text, part.uses, () if id(part) in cleared else part.results) for part in parts]


def dedupe(case: Case, _room: int) -> list[Message]:
    """opencode-dcp: of calls with the same tool and input the newest result; inputs of errors older than four turns go."""
    newest = {(use.tool, repr(sorted(use.input.items(), key=str))): use.id for message in case.messages for use in message.uses}
    kept = set(newest.values())
    return [Message(part.role, part.text, part.uses, [shown for shown in part.results if shown.id in kept]) for part in _whole(case)]


def oracle(case: Case, room: int, ruled: Collection[str] = ()) -> list[Message]:
    """Knows the needs: of calls and results those that hold most of them for their tokens, again and again. Those with an id in `ruled`
    stand."""
    standing, rest = _standing(case, ruled)
    return best(case, room, standing, rest)


def oracle_of_lines(case: Case, room: int) -> list[Message]:
    """The same of single lines, which stand without their calls."""
    standing, rest = _standing(case)
    return best(case, room, standing, [Message(USER, line) for line in _lines(rest)])


def oracle_of_lines_by_our_rules(case: Case, room: int) -> list[Message]:
    standing, rest = _standing(case, _ruled(case))
    return best(case, room, standing, [Message(USER, line) for line in _lines(rest)])


def _lines(parts: list[Message]) -> list[str]:
    texts = [text for part in parts for use in part.uses for text in texts_in(use.input)]
    texts += [shown.text for part in parts for shown in part.results]
    return list(dict.fromkeys(line for text in texts for line in text.splitlines()))


def _standing(case: Case, ruled: Collection[str] = ()) -> tuple[list[Message], list[Message]]:
    """What was said or has an id in `ruled`, and the rest."""
    sides: tuple[list[Message], list[Message]] = ([], [])
    for part in _whole(case):
        sides[not (part.text or any(use.id in ruled for use in part.uses))].append(part)
    return sides


def best(case: Case, room: int, standing: list[Message], parts: list[Message]) -> list[Message]:
    """What stands, and of the parts those that hold most of the needs for their tokens, as far as all of it has room."""
    held = strings(standing) & case.needs
    room -= sum(tokens_of(case, part) for part in standing)
    rest = [(needs, max(1, tokens_of(case, part)), part) for part in parts for needs in [strings([part]) & case.needs] if needs]
    while True:
        fits = [each for each in rest if each[1] <= room and each[0] - held]
        if not fits:
            return standing
        most = max(fits, key=lambda each: len(each[0] - held) / each[1])
        rest.remove(most)
        standing.append(most[2])
        held |= most[0]
        room -= most[1]


def oracle_by_our_rules(case: Case, room: int) -> list[Message]:
    return oracle(case, room, _ruled(case))


def _ruled(case: Case) -> set[str]:
    return compacting.always_whole(case.messages, case.conversation) | compacting.whole_results_of(case.conversation)


def as_recorded(case: Case, _room: int) -> list[Message]:
    """The recorded summary, and whole results of the files that were read last, five at most, as far as what the host left has room."""
    standing = [Message(USER, case.after.summary)]
    room = case.after.sent - tokens_of(case, standing[0])
    read: dict[str, Message] = {}
    for part in reversed(_whole(case)):
        for use, shown in zip(part.uses, part.results):
            path = str(use.input.get("file_path", ""))
            if use.traits.operation == READ and path not in read and not shown.error and len(read) < FILES:
                read[path] = Message(USER, "", (), [shown])
    for part in read.values():
        tokens = tokens_of(case, part)
        if tokens <= room:
            standing.append(part)
            room -= tokens
    return standing


def _whole(case: Case) -> list[Message]:
    """The parts that leave only together: what was said, or a run of calls with their results."""
    parts: list[Message] = []
    for message in case.messages:
        if message.results and parts and parts[-1].uses:
            asked = parts.pop()
            parts.append(Message(asked.role, asked.text, asked.uses, message.results))
            if message.text:
                parts.append(Message(message.role, message.text))
        else:
            parts.append(message)
    return parts


def tokens_of(case: Case, part: Message) -> int:
    """The tokens of a part, calibrated as the conversation is."""
    estimated = estimate_tokens(part.text) + sum(use.tokens for use in part.uses) + sum(result_tokens(each.text) for each in part.results)
    return round(estimated * case.conversation.state.calibration)


def _newest(case: Case, parts: Iterable[Message], room: int, stop: bool = True) -> list[Message]:
    kept = []
    for part in parts:
        tokens = tokens_of(case, part)
        if tokens <= room:
            kept.append(part)
            room -= tokens
        elif stop:
            break
    return kept


# --- figures -----------------------------------------------------------------------------------------------------------------------


def kept(found: list[Case], way: Way, room_of: Callable[[Case], int]) -> str:
    """The mean share of the needs that still stands, and how much of the conversation that takes."""
    made = [way(case, room_of(case)) for case in found]
    share = statistics.fmean(len(case.needs & strings(each)) / len(case.needs) for case, each in zip(found, made))
    size = statistics.fmean(sum(tokens_of(case, part) for part in each) / case.tokens for case, each in zip(found, made))
    return f"{share:.3f} ({size:.2f})"


def worse(summarised: list[Case], room_of: Callable[[Case], int]) -> str:
    """In how many cases ours keeps fewer of the needs than what the host left."""
    fewer = [_needs(case, ours(case, room_of(case))) < _needs(case, as_recorded(case, 0)) for case in summarised]
    return f"{sum(fewer)} of {len(fewer)}"


def _needs(case: Case, stays: Iterable[Message]) -> int:
    return len(case.needs & strings(stays))


def report(found: list[Case], shares: list[float]) -> None:
    """Prints the tables."""
    print(f"{len(found)} boundaries, {statistics.fmean(case.tokens for case in found):,.0f} tokens on average (system and tools apart)")
    summarised = [case for case in found if case.after.summary and case.kind == conversations.AUTO and case.after.sent]
    if summarised:
        size, left = (statistics.fmean(room(case) for case in summarised) for room in (_summary_room, _left_room))
        print(f"{len(summarised)} with a recorded summary: {size:,.0f} tokens; with what was put back {left:,.0f}")
    heads = [*[f"{share:.0%}" for share in shares], *(["summary's", "all left"] if summarised else [])]
    print(f"\n{'needs that still stand':<24}" + "".join(f"{head:>14}" for head in heads))
    blank = " " * 14 * len(shares)
    if summarised:
        print(f"{'recorded summary':<24}{blank}{kept(summarised, lambda case, _: [Message(USER, case.after.summary)], _summary_room):>14}")
        print(f"{'and files put back':<24}{blank}{'':>14}{kept(summarised, as_recorded, _left_room):>14}")
    for name, way in (
        ("newest first", newest_first), ("words, newest live", words_then_newest_live), ("ours", ours), ("oracle", oracle),
        ("oracle by our rules", oracle_by_our_rules), ("oracle of lines", oracle_of_lines),
        ("of lines, by our rules", oracle_of_lines_by_our_rules),
    ):  # fmt: skip
        row = [kept(found, way, lambda case, share=share: round(share * case.tokens)) for share in shares]  # type: ignore[misc]
        row += [kept(summarised, way, room) for room in (_summary_room, _left_room)] if summarised else []
        print(f"{name:<24}" + "".join(f"{value:>14}" for value in row))
    if summarised:
        row = [worse(summarised, lambda case, share=share: round(share * case.tokens)) for share in shares]  # type: ignore[misc]
        row += [worse(summarised, room) for room in (_summary_room, _left_room)]
        print(f"{'ours worse than theirs':<24}" + "".join(f"{value:>14}" for value in row))
    for name, fixed in (("keep 3", keep_newest_uses), ("dedupe", dedupe)):
        print(f"{name:<24}{kept(found, fixed, lambda case: 0):>14}   whatever it takes")
    spoken_share = statistics.fmean(sum(tokens_of(case, part) for part in _whole(case) if part.text) / case.tokens for case in found)
    ruled = statistics.fmean(sum(tokens_of(case, part) for part in oracle_by_our_rules(case, 0)) / case.tokens for case in found)
    print(f"\nall that was said takes {spoken_share:.3f} of the conversation, with what ours leaves whole at any target {ruled:.3f}")
    print("\nours              met   stands      tokens   requests to the next compaction")
    for share in shares:
        _met(f"at {share:.0%}", found, lambda case, share=share: round(share * case.tokens))  # type: ignore[misc]
    if summarised:
        _met("summary's size", summarised, _summary_room)
        _met("all left", summarised, _left_room)
        until = statistics.median(_until_next(case, case.after.sent) for case in summarised)
        remaining = statistics.fmean(_left_room(case) / case.tokens for case in summarised)
        print(f"{'recorded':<16}{'':>5} {remaining:>8.2f} {statistics.fmean(map(_left_room, summarised)):>10,.0f} {until:>10,.0f}")
    began = time.perf_counter()
    for case in found:
        compacted(case, round(0.4 * case.tokens))
    print(f"\n{1000 * (time.perf_counter() - began) / len(found):.1f} ms each, without reading and writing")


def tune(found: list[Case], shares: list[float]) -> None:
    """Prints what ours keeps with each constant of STEPS a step lower and a step higher, all else equal."""

    def show(head: str) -> None:
        row = [kept(found, ours, lambda case, share=share: round(share * case.tokens)) for share in shares]  # type: ignore[misc]
        print(f"{head:<24}" + "".join(f"{each:>14}" for each in row), flush=True)

    show("shipped")
    for (module, name), tried in STEPS.items():
        chosen = getattr(module, name)
        for value in tried:
            setattr(module, name, value)
            show(f"{module.__name__.rpartition('.')[2]}.{name} {value:g}")
        setattr(module, name, chosen)


def again(folder: Path, tokens: int) -> None:
    """Prints what stays when one compaction follows another."""
    rows: dict[int, list[tuple[float, float, float, float, float]]] = {}
    for path in own_sessions.below(folder):
        for number, row in _in_a_row(path, tokens):
            rows.setdefault(min(number, LAST), []).append(row)
    print("compaction  places   needs   tokens   lists   words   lists of calls")
    for number, each in sorted(rows.items()):
        kept, stays, lists, words, count = map(statistics.fmean, zip(*each))
        head = f"{number}{' and later' if number == LAST else ''}"
        print(f"{head:<12}{len(each):>6}{kept:>8.3f}{stays:>9,.0f}{lists:>8.2f}{words:>8.2f}{count:>17.1f}")


def _in_a_row(path: Path, tokens: int) -> Iterator[tuple[int, tuple[float, float, float, float, float]]]:
    """Yield the how many-th compaction it is and its row, for each with enough needs behind it."""
    rules, soon = shipped.rules(), shipped.need_soon_model()
    stays: list[Message] = []
    cleared: dict[str, str] = {}
    ours: dict[str, list[str]] = {}
    seen = number = 0
    for boundary in conversations.steps(str(path), tokens):
        if boundary.kind == conversations.AUTO:
            stays, seen, number = [], 0, 0
            continue
        try:
            made, whole = conversations.before(str(path), boundary.begin, rules)
        except MessagesNotUnderstood as error:
            print(f"left out from here on: {path.name}: {error}", file=sys.stderr)
            return
        messages = [*stays, *whole[seen:]]
        seen, number = len(whole), number + 1
        fold = made.conversation
        ids = [shown.id for message in messages for shown in message.results]
        fold.observe(events.Compacted(fold.state.at, ids))
        fold.observe(events.Cleared({id: cleared[id] for id in ids if id in cleared}))
        done = compacting.compact(messages, fold, soon, 0.0, _named, least=AGAIN_TOKENS, ours=ours)
        stays = done.messages
        cleared.update({left.id: left.handle for left in done.left if left.kind == compacting.RESULT})
        ours.update({left.handle: lists.held_by(left.content) for left in done.left if left.kind == compacting.CALLS})
        needs = conversations.after(str(path), boundary.begin, AHEAD).written & strings(whole)
        if len(needs) >= FEWEST_NEEDS:
            calibration = fold.state.calibration
            texts = [(bool(handle_of_list(message)), estimate_tokens(message.text) * calibration) for message in stays if message.text]
            listed, spoken = (sum(size for is_list, size in texts if is_list is wanted) / AGAIN_TOKENS for wanted in (True, False))
            yield number, (len(needs & strings(stays)) / len(needs), done.after, listed, spoken, sum(is_list for is_list, _ in texts))


def _named(id: str, content: object) -> str:
    digest = hashlib.sha256(repr((id, content)).encode("utf-8", "surrogatepass")).digest()
    return base64.b32encode(digest).decode().lower()[: len(_handle("", ""))]


def _met(name: str, found: list[Case], room_of: Callable[[Case], int]) -> None:
    made = [compacted(case, room_of(case)) for case in found]
    met = sum(each.met for each in made) / len(made)
    remaining = statistics.fmean(each.after / max(1, each.before) for each in made)
    tokens = statistics.fmean(each.after for each in made)
    until = statistics.median([_until_next(case, each.after) for case, each in zip(found, made) if case.kind == conversations.AUTO] or [0])
    print(f"{name:<16}{met:>5.0%} {remaining:>8.2f} {tokens:>11,.0f} {until:>10,.0f}")


def _summary_room(case: Case) -> int:
    return round(estimate_tokens(case.after.summary) * case.conversation.state.calibration)


def _left_room(case: Case) -> int:
    return max(_summary_room(case), case.after.sent)


def _until_next(case: Case, remaining: int) -> float:
    """Requests until a conversation of which so many tokens stand is again as large as it was."""
    return max(0, case.tokens - remaining) / max(1.0, case.after.growth)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    parser.add_argument("--kind", choices=("all", "auto"), default="all", help="auto: automatic compactions alone")
    parser.add_argument("--share", type=float, nargs="*", default=list(SHARES), help="sizes, as shares of the conversation")
    parser.add_argument("--tune", action="store_true", help="with each constant of ways.py and left_names.py a step lower and higher")
    parser.add_argument("--held-out", action="store_true", help="by a model of need that has not seen the repository; takes a minute more")
    parser.add_argument("--again", type=int, metavar="TOKENS", help="compact again and again, after so many tokens each")
    options = parser.parse_args()
    if options.again:
        again(options.transcripts, options.again)
        return 0
    models = held_out.models(held_out.read_sessions(options.transcripts), shipped.rules(), ahead=AHEAD) if options.held_out else None
    found = [case for case in cases(options.transcripts, models) if options.kind == "all" or case.kind == conversations.AUTO]
    if not found:
        print("no boundary with enough needs behind it", file=sys.stderr)
        return 1
    (tune if options.tune else report)(found, options.share)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
