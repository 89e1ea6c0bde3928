"""What the installation brings on repositories that its models of need have not seen, by default and after `popkit auto on`, and what
`auto` does; what the door brings, where results enter, and what compactions without a model cost.

    python benchmarks/held_out.py --transcripts FOLDER
    python benchmarks/held_out.py --transcripts FOLDER --door reads any safe any+safe any+safe+auto
    python benchmarks/held_out.py --transcripts FOLDER --compact

For each repository the model is fitted on the sessions of all others (own_sessions.py says which these are). Cost and carried tokens are
relative to clearing nothing, means over repositories of the ratios of sums; misses per 100 requests and the share of sessions that became
dearer are pooled. For every price of a cache read and both lifetimes, with the look-back. Sessions of fewer than 5 requests are left out.

Of each door it says what a reader made of the references who sees the context alone (reference_decoder.py): *wrong*: other lines than those
that were left out; *ambiguous*: several places fit, with different lines; *nowhere*, *gone*: none fits, or none any more.

A door is named by what it does: say once what the context shows (`reads`, `any`), leave noise out (`safe`), and of long outputs
what says little too (`strong`); with `auto`, which then clears, held out as above. `bound8`, `bound4`, `bound1` are what no door can reach:
of every result all lines go, without a word in their place, that stand anywhere in the context, in a result, a Write or an Edit, if so
many in a row do. *Written again*: requests in 100 that edit a line which the newest result that held it left out as it entered.

`--compact` compares compactions without a model with the host's own (compacting_cost.py).
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "power-mode"))

import compacting_cost
import own_sessions
import reference_decoder
from lab import fitting

from popkit_retention.core.policy import door
from popkit_retention.core.policy.door.rules import REBUILT
from popkit_retention.core.policy.economics import THINKING_AGAIN, Prices
from popkit_retention.core.policy.least_needed import COLD_TARGET
from popkit_retention.core.policy.need_model import NeedModel
from popkit_retention.core.policy.ruleset import COMPACT_TARGET, Ruleset
from popkit_retention.core.state import shipped
from popkit_retention.lab import measure, replay_policies, sent_requests
from popkit_retention.lab.door_policy import DOOR_NAMES, Door, door_settings_of
from popkit_retention.lab.engine_policies import AutoPolicy
from popkit_retention.lab.recorded import Block, Session

LEAST_REQUESTS = 5
LEAST_CHARS = 20  # of a line that is looked for
# The rules whose results need no context.
UNREFERRED = [rule for rule in door.RULES if rule.law != REBUILT]
BOUNDS = {"bound8": 8, "bound4": 4, "bound1": 1}


def models(read: list, rules: Ruleset, knows: Callable[[str], bool] = lambda feature: True, ahead: int = 0) -> dict:
    """repository -> the model fitted on all others, with the features that it `knows`; the one that ships where there are no others.
    `ahead`: as `fitting.rows_of` takes it."""
    if len({repository for repository, _ in read}) == 1:
        print("All sessions are of one repository, so the model that ships is used, which has seen none of them.", file=sys.stderr)
        return {read[0][0]: shipped.need_soon_model() if ahead else shipped.need_model()}
    rng = random.Random(1)
    rows = [
        (
            repository,
            [
                ([pair for pair in found if knows(pair[0])], was, weight)
                for found, was, weight in fitting.rows_of(session, rules, rng, ahead)
            ],
        )
        for repository, session in read
    ]
    return {
        held: NeedModel(fitting.fit([row for repository, some in rows if repository != held for row in some]))
        for held in sorted({repository for repository, _ in read})
    }


def read_sessions(folder: Path) -> list:
    """[(repository, Session)] of those that are long enough."""
    read = [(own_sessions.repository_of(path), sent_requests.read(str(path))) for path in own_sessions.below(folder)]
    long = [(repository, session) for repository, session in read if len(session.requests) >= LEAST_REQUESTS]
    if not long:
        raise SystemExit(f"{folder}: none of its {len(read)} sessions has {LEAST_REQUESTS} requests")
    return long


def figures(read: list, by_repository: dict, prices: Prices, rules: Ruleset, policy: Callable = AutoPolicy) -> tuple:
    """(cost, carried, misses per 100 requests, share that became dearer) of all sessions at some Prices."""
    return compared(read, prices, lambda repository, session: policy(prices, by_repository[repository], rules))


def of_installed(read: list, by_repository: dict, soon: dict, prices: Prices, name: str) -> tuple:
    """The same of what is installed; `soon`: the models of what is needed soon."""
    is_auto = name == replay_policies.DEFAULT_AUTO

    def policy_of(repository: str, _session: Session) -> measure.Policy:
        return replay_policies.installed(prices, is_auto, None, by_repository[repository], soon[repository])

    return compared(read, prices, policy_of)


def compared(read: list, prices: Prices, policy_of: Callable) -> tuple:
    """The same under the policy that `policy_of(repository, session)` makes."""
    sums: dict = defaultdict(lambda: [0.0, 0.0, 0, 0])
    missed = requests = dearer = 0
    for repository, session in read:
        without = measure.score(session, measure.Policy(), prices)
        scored = measure.score(session, policy_of(repository, session), prices)
        for place, amount in enumerate((scored.cost, without.cost, scored.carried, without.carried)):
            sums[repository][place] += amount
        missed += scored.missed
        requests += scored.requests
        dearer += scored.cost > measure.DEARER * without.cost
    cost = sum(with_it / without for with_it, without, _, _ in sums.values()) / len(sums)
    carried = sum(with_it / without for _, _, with_it, without in sums.values()) / len(sums)
    return cost, carried, 100 * missed / requests, dearer / len(read)


class Bound(Door):
    """Leaves out, in silence, all lines in rows of `least` or more that stand anywhere in the context."""

    def __init__(self, rules: Ruleset, least: int) -> None:
        super().__init__(rules, None, door_settings_of(door.OFF))
        self.least = least
        self.lines: dict = {}  # a line -> id of what showed it last

    def enter(self, block: Block) -> str | None:
        result = self.tracked.result(block)
        if result is None or block.call.outcome.error:
            return None
        lines, whole, kept = door.lines_of(block.text), block.text.split("\n"), []
        for shown, some in itertools.groupby(range(len(lines)), lambda at: lines[at] in self.lines):
            places = list(some)
            kept += [] if shown and len(places) >= self.least else [whole[at] for at in places]
        arrival = door.Arrival(block.id, block.call.traits, block.call.tool_input, result.kind, "", block.text)
        written = door.written(arrival)
        self.lines.update(dict.fromkeys(lines, block.id))
        if written is not None:
            self.lines.update(dict.fromkeys(written.lines, block.id))
        text = "\n".join([*kept, *whole[len(lines) :]])
        return text if len(text) < len(block.text) else None

    def _keep(self, ids: Collection[str]) -> None:
        super()._keep(ids)
        kept = set(ids)
        self.lines = {line: id for line, id in self.lines.items() if id in kept}


class Entered(measure.Policy):
    """Clears nothing; of some results another text enters: {Block: text}."""

    def __init__(self, texts: dict) -> None:
        self.texts = texts

    def enter(self, block: Block) -> str | None:
        return self.texts.get(block)


def texts_entered(session: Session, entering: Door) -> dict:
    """{Block: text that enters in place of its own}; what a door lets in depends on no price."""
    entered: dict = {}
    measure.score(session, entering, replay_policies.ANY_PRICES, lambda request, decisions, some: entered.update(some))
    return entered


def written_again(session: Session, entered: dict) -> int:
    """How many requests edit a line of 20 characters or more that the newest result which held it has left out."""
    newest: dict = {}  # line -> the result
    requests: set = set()
    number = 0
    for kind, *what in session.steps:
        number += kind == "request"
        if kind == "compact":
            newest = {}
        elif kind == "add" and what[0].id:
            block = what[0]
            old = [text for text in _edited(block.call.tool_input) if not block.call.outcome.error]
            held = [(line, newest.get(line)) for line in _lines(old)]
            if any(result in entered and line not in entered[result] for line, result in held):
                requests.add(number)
            newest.update(dict.fromkeys(_lines([block.text]), block))
    return len(requests)


def _lines(texts: list) -> list:
    return [line for text in texts for line in map(str.strip, door.lines_of(text)) if len(line) >= LEAST_CHARS]


def _edited(tool_input: dict) -> list:
    """The texts that a call replaces."""
    edits = tool_input.get("edits")
    some = [tool_input, *(edits if isinstance(edits, list) else [])]
    return [old for edit in some if isinstance(edit, dict) and isinstance(old := edit.get("old_string"), str)]


class Followed(Door):
    """A door whose references somebody follows who sees the context alone (reference_decoder.py); `counts` what came of it."""

    def __init__(self, rules: Ruleset, then: measure.Policy | None, settings: door.Settings) -> None:
        super().__init__(rules, then, settings)
        self.counts: Counter = Counter()
        self.standing: dict = {}  # id of a result -> its references

    def begin(self, cwd: str) -> None:
        super().begin(cwd)
        self.reader = reference_decoder.Reader(cwd)

    def enter(self, block: Block) -> str | None:
        arrival = self.arrival_of(block)
        text = super().enter(block)
        if arrival is None:
            return text
        entered = block.text if text is None else text
        # What a result itself holds, and no reference put there, is none.
        whole = door.enter(arrival, door.ContextLines(), self.settings, UNREFERRED).text
        references = [(at, one) for at, one in reference_decoder.references(entered) if one[0] not in whole]
        found = {at: self.reader.follows(one) for at, one in references}
        self.counts["references"] += len(references)
        self.counts.update(one.kind for one in found.values())
        if references and {one.kind for one in found.values()} == {"found"}:
            stands_for = {at: one.lines for at, one in found.items()}
            original = [line for _, line in reference_decoder.listing(whole)]
            self.counts["wrong"] += len(references) * (not reference_decoder.rebuilds(entered, stands_for, original))
        self.standing[block.id] = [one for _, one in references]
        self.reader.sees(block.id, arrival.tool, arrival.tool_input, entered)
        return text

    def _keep(self, ids: Collection[str]) -> None:
        super()._keep(ids)
        self._stand(self.reader.stands(ids))

    def decide(self, view: measure.View) -> list:
        decisions = super().decide(view)
        cleared = {block.id for block, *_ in decisions if block.id}
        self.reader.sees_cleared(cleared)
        self._stand(cleared)
        return decisions

    def _stand(self, lost: set) -> None:
        """What stands is followed again once something has left."""
        if lost:
            self.standing = {id: references for id, references in self.standing.items() if id not in lost}
            left = [self.reader.follows(one, id).kind for id, references in self.standing.items() for one in references]
            self.counts.update(kind for kind in left if kind != "found")


class Named:
    """A door by its name: the parts of it, joined by +."""

    def __init__(self, name: str, rules: Ruleset, by_repository: dict) -> None:
        parts = name.split("+")
        self.clears = "auto" in parts
        self.bound = BOUNDS.get(name)
        self.settings = door_settings_of(door.OFF if self.bound else "+".join(part for part in parts if part != "auto") or door.OFF)
        self.rules = rules
        self.by_repository = by_repository
        self.entered: dict = {}  # Session -> texts that enter

    def read(self, sessions_read: list) -> Counter:
        """What came of the references that results enter with."""
        counts: Counter = Counter()
        for repository, session in sessions_read:
            then = AutoPolicy(replay_policies.ANY_PRICES, self.by_repository[repository], self.rules) if self.clears else None
            entering = Bound(self.rules, self.bound) if self.bound else Followed(self.rules, then, self.settings)
            self.entered[session] = texts_entered(session, entering)
            counts.update(getattr(entering, "counts", {}))
        return counts

    def policy(self, prices: Prices) -> Callable:
        """policy_of(repository, session) at some Prices."""
        if not self.clears:
            return lambda repository, session: Entered(self.entered[session])
        return lambda repository, session: Door(self.rules, AutoPolicy(prices, self.by_repository[repository], self.rules), self.settings)


def of_doors(read: list, rules: Ruleset, names: list, bound: bool) -> None:
    """Prints the figures of each door."""
    by_repository = models(read, rules) if any("auto" in name.split("+") for name in names) else {}
    requests = sum(len(session.requests) for _, session in read)
    for name in names:
        named = Named(name, rules, by_repository)
        counts = named.read(read)
        again = 100 * sum(written_again(session, texts) for session, texts in named.entered.items()) / requests
        print(f"{name}: {sum(map(len, named.entered.values()))} results enter shorter, written again {again:.2f} of 100 requests")
        print(f"{counts['references']} references: " + ", ".join(f"{counts[kind]} {phrase}" for kind, phrase in FOLLOWED.items()))
        print(HEAD)
        for prices in all_prices(bound):
            print(row(prices, compared(read, prices, named.policy(prices))), flush=True)


FOLLOWED = {"wrong": "wrong", "ambiguous": "ambiguous", "nowhere": "leading nowhere", "gone": "to what has left the context"}
HEAD = "read   lifetime    cost   carried  misses/100  dearer"


def row(prices: Prices, found: tuple) -> str:
    cost, carried, misses, dearer = found
    name = "5 minutes" if prices.ttl_s == 300 else "1 hour"
    return f"{prices.read:<6g} {name:<10} {cost:.3f}   {carried:.3f}   {misses:>6.2f}      {dearer:.1%}"


def door_named(name: str) -> str:
    """A door's name, for argparse."""
    if name in BOUNDS or set(name.split("+")) <= {*DOOR_NAMES, "auto"}:
        return name
    raise argparse.ArgumentTypeError(f"{name}: parts joined by +, of {', '.join(DOOR_NAMES)}, auto; or {', '.join(BOUNDS)}")


def all_prices(bound: bool = False) -> list:
    """[Prices] of every price of a cache read that models have, and both lifetimes; `bound`: where thinking is bound to the past."""
    return [Prices(read, write, 5.0, ttl_s, bound) for read in (0.1, 0.05, 0.025) for ttl_s, write in ((300, 1.25), (3_600, 2.0))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl of several repositories")
    parser.add_argument("--bound", action="store_true", help="as if the models bound their thinking")
    parser.add_argument(
        "--door", nargs="*", type=door_named, metavar="NAME", help="what enters, instead of what auto clears; reads any strong any+strong"
    )
    parser.add_argument("--compact", nargs="*", type=float, metavar="SHARE", help=f"compactions, down to these shares ({COMPACT_TARGET:g})")
    parser.add_argument(
        "--caution",
        type=float,
        default=THINKING_AGAIN,
        help="of --compact: when cold, this share of lost thinking is thought again",
    )
    parser.add_argument(
        "--cold-target", type=float, default=COLD_TARGET, help="of --compact: when cold, so much of the conversation may stand"
    )
    options = parser.parse_args()
    read = read_sessions(options.transcripts)
    rules = shipped.rules()
    if options.compact is not None:
        soon = models(read, rules, ahead=fitting.AHEAD)
        cold = compacting_cost.Cold(options.caution, options.cold_target)
        compacting_cost.report(read, models(read, rules), soon, rules, options.compact or [COMPACT_TARGET], cold)
        return 0
    if options.door is not None:
        of_doors(read, rules, options.door or ["reads", "any", "strong", "any+strong"], options.bound)
        return 0
    by_repository, soon = models(read, rules), models(read, rules, ahead=fitting.AHEAD)
    for name in (*replay_policies.INSTALLED, "auto"):
        print(f"{name}\n{HEAD}")
        for prices in all_prices(options.bound):
            found = figures(read, by_repository, prices, rules) if name == "auto" else of_installed(read, by_repository, soon, prices, name)
            print(row(prices, found), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
