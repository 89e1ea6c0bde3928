"""What recorded sessions answer to two questions that the specification of retention leaves open.

    python benchmarks/open_questions.py --transcripts FOLDER

*Imports*: an edit of A, and a live Read of B that imports A. Is it likelier that B is read again, needed or edited within the next requests
than the other live Reads at such edits? A Read counts once for each file that is edited. Then what it brings to let an edit count as a
use of the Reads that import the file, which is what a longer lifetime would do.

*Errors*: how often what was preserved of a failed call is needed again, before and after the same call has succeeded; then what it brings
to keep it.

Needed is a result of which the assistant writes a string that no text of its own, and no other result, held. Cost / carried / misses per
100 requests / dearer are measured as by held_out.py, under `auto` on repositories that the model has not seen, and under the rules of the
profile `spec`, which expire without asking what is needed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import held_out  # which puts the folders of the plugin there

from popkit_retention.core.policy import kinds
from popkit_retention.core.policy.classify import classify
from popkit_retention.core.policy.context import Result
from popkit_retention.core.policy.economics import Prices
from popkit_retention.core.policy.ruleset import SPEC, Ruleset
from popkit_retention.core.state import shipped
from popkit_retention.lab.engine_policies import AutoPolicy, Tiers, TrackingPolicy
from popkit_retention.lab.policy import Policy
from popkit_retention.lab.recorded import Block, Request, Session

REQUESTS = 20  # that an edit is followed for
HAPPENINGS = ("read", "needed", "edited")
PRICES = [Prices(0.1, 1.25, 5.0, 300, False), Prices(0.1, 2.0, 5.0, 3_600, False), Prices(0.025, 1.25, 5.0, 300, True)]
_IMPORT = re.compile(
    r"^[ \t]*(?:\d+(?:→|\t)[ \t]*)?(?:import|from|use|using|require|#include|export .* from|.*\brequire\()\b.*$", re.MULTILINE
)
_WORD = re.compile(r"\w+")
_COMMON = frozenset(("index", "mod", "main", "__init__", "lib"))


def imported_by(text: str) -> set[str]:
    """Return the words in the lines of a text that import something."""
    return {word for line in _IMPORT.findall(text) for word in _WORD.findall(line)}


def module_of(path: str) -> str:
    """Return the name under which other files import a file: that of its folder where its own is common."""
    own = Path(path)
    return own.parent.name if own.stem in _COMMON else own.stem


class Imports:
    """The Reads of a followed session by what they import."""

    def __init__(self, tracked: TrackingPolicy) -> None:
        self.tracked = tracked
        self.words: dict[str, set[str]] = {}  # id of a Read -> the words of its imports

    def edited(self, block: Block) -> str:
        """Note a result; return the path that it edited, "" for none."""
        result = self.tracked.result(block)
        if result is not None and result.kind == kinds.READ:
            self.words[block.id] = imported_by(block.text)
        return next(iter(classify(block.call, self.tracked.state.cwd, self.tracked.rules).edits), "")

    def others(self, path: str) -> Iterator[tuple[Result, bool]]:
        """Yield the live Reads of other files, and whether each imports the file."""
        name = module_of(path)
        for result in self.tracked.state.live.values():
            if result.kind == kinds.READ and path not in result.subjects:
                yield result, name in self.words.get(result.id, ())


def importers(policy: TrackingPolicy, block: Block) -> list[Result]:
    """Return the live Reads that import the file which a block has edited; the policy keeps what its Reads import."""
    imports = vars(policy).setdefault("imports", Imports(policy))
    path = imports.edited(block) if block.id else ""
    return [result for result, does_import in imports.others(path) if does_import] if path else []


class Importing(AutoPolicy):
    """`auto`, where an edit of a file counts as a use of the live Reads that import it."""

    def add(self, block: Block) -> None:
        super().add(block)
        for result in importers(self, block):
            result.touch(self.state.index)


class ImportersHeld(Tiers):
    """The specification's rules, where nothing ends a Read that imports a file which was edited."""

    def add(self, block: Block) -> None:
        super().add(block)
        for result in importers(self, block):
            result.pinned = True


def followed(session: Session, tracked: TrackingPolicy) -> Iterator[Block | Request | None]:
    """Yield the results and requests of a session, each after `tracked` has followed it, None where a context was emptied or rewound."""
    tracked.begin(session.cwd)
    for kind, *what in session.steps:
        if kind == "add":
            tracked.add(what[0])
            if what[0].id:
                yield what[0]
        elif kind == "event":
            tracked.event(what[0])
        elif kind == "compact":
            tracked.compact(what[0])
            yield None
        else:
            yield None if kind == "cut" else what[0]


def needed(request: Request) -> set[str]:
    """Return the ids of the results that alone held something that an answer wrote."""
    return {block.id for _, held in request.needs if len(held) == 1 for block in held}


class Pair:
    """A live Read at an edit of another file: the number of the request, the Read, and what has happened to it since."""

    def __init__(self, number: int, read: Result, does_import: bool) -> None:
        self.number = number
        self.id = read.id
        self.subjects = set(read.subjects)
        self.does_import = does_import
        self.happened: set[str] = set()


def of_imports(sessions: list[tuple[str, Session]], rules: Ruleset) -> None:
    """Print what happened to Reads after edits of what they import, and of what they do not."""
    pairs = [pair for _, session in sessions for pair in pairs_of(session, rules)]
    print(f"within {REQUESTS} requests of an edit of A | pairs | B read again | B needed | B edited")
    for does_import, name in ((True, "B imports A"), (False, "B does not")):
        some = [pair.happened for pair in pairs if pair.does_import == does_import]
        shares = " | ".join(f"{100 * sum(what in happened for happened in some) / max(1, len(some)):.1f} %" for what in HAPPENINGS)
        print(f"{name} | {len(some):,} | {shares}", flush=True)


def pairs_of(session: Session, rules: Ruleset) -> list[Pair]:
    """Return the Pairs of a session: each Read once for each file that is edited."""
    tracked, number = TrackingPolicy(rules), 0
    imports = Imports(tracked)
    pairs: dict[tuple[str, str], Pair] = {}
    going: list[Pair] = []
    for what in followed(session, tracked):
        if isinstance(what, Request):
            number += 1
            going = [pair for pair in going if number - pair.number <= REQUESTS]
            for pair in going:
                pair.happened |= {"needed"} if pair.id in needed(what) else set()
        elif isinstance(what, Block):
            path, result = imports.edited(what), tracked.result(what)
            if result is not None and result.kind == kinds.READ:
                for pair in going:
                    pair.happened |= {"read"} if pair.subjects & set(result.subjects) else set()
            for pair in going:
                pair.happened |= {"edited"} if path in pair.subjects else set()
            for read, does_import in list(imports.others(path)) if path else ():
                if (path, read.id) not in pairs:
                    pairs[path, read.id] = Pair(number, read, does_import)
                    going.append(pairs[path, read.id])
        else:
            going = []
    return list(pairs.values())


def of_errors(sessions: list[tuple[str, Session]], rules: Ruleset) -> None:
    """Print how often errors are needed while they last, and once the same call has succeeded."""
    counts: Counter[str] = Counter()
    for _, session in sessions:
        tracked = TrackingPolicy(rules)
        errors: dict[str, str] = {}  # id -> "live" or "ended"
        for what in followed(session, tracked):
            if isinstance(what, Request):
                counts.update(state + " requests" for state in errors.values())
                counts.update(errors[id] + " needs" for id in needed(what) & set(errors))
            elif isinstance(what, Block):
                result = tracked.result(what)
                if result is not None and result.kind == kinds.ERROR:
                    errors[what.id] = "live"
                    counts.update(errors=1, tokens=result.tokens)
                for id in [id for id, state in errors.items() if state == "live" and id in tracked.state.expired]:
                    errors[id] = "ended"
                    counts.update({"ended": 1, "ended tokens": tracked.state.expired[id].tokens})
            else:
                errors = {}
    print(
        f"{counts['errors']:,} errors of {counts['tokens']:,} tokens, {counts['ended']:,} of {counts['ended tokens']:,} ended by a success"
    )
    for name in ("live", "ended"):
        rate = 1000 * counts[name + " needs"] / max(1, counts[name + " requests"])
        print(
            f"{name}: needed in {counts[name + ' needs']} of {counts[name + ' requests']:,} requests that carried one, {rate:.2f} in 1,000"
        )
    print(flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    options = parser.parse_args()
    sessions, rules = held_out.read_sessions(options.transcripts), shipped.rules()
    of_imports(sessions, rules)
    of_errors(sessions, rules)
    spec = Ruleset.from_config({}, rules.tools, SPEC)
    ending = Ruleset.from_config({}, rules.tools, SPEC)
    ending._tiers["preserved"] = rules.tier_rule("preserved")
    lasting = Ruleset.from_config({"tiers": {"preserved": {"expiry_events": ["manual"]}}}, rules.tools)
    fitted = held_out.models(sessions, rules)

    def show(name: str, policy: Callable[[Prices, str], Policy]) -> None:
        cells = []
        for prices in PRICES:
            cost, carried, misses, dearer = held_out.compared(
                sessions, prices, lambda repository, _, prices=prices: policy(prices, repository)
            )
            cells.append(f"{cost:.4f} / {carried:.4f} / {misses:.2f} / {100 * dearer:.1f}")
        print(f"{name} | {' | '.join(cells)}", flush=True)

    print("cost / carried / misses / dearer | 5 minutes, 0.1 | 1 hour, 0.1 | 5 minutes, 0.025, bound")
    show("auto", lambda prices, repository: AutoPolicy(prices, fitted[repository], rules))
    show("auto, an edit uses what imports it", lambda prices, repository: Importing(prices, fitted[repository], rules))
    show("auto, errors last", lambda prices, repository: AutoPolicy(prices, fitted[repository], lasting))
    show("spec, cold", lambda prices, repository: Tiers(spec, True))
    show("spec, cold, errors end", lambda prices, repository: Tiers(ending, True))
    show("spec, cold, importers held", lambda prices, repository: ImportersHeld(spec, True))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
