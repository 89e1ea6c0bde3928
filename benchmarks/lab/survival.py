"""How long results stay of use: of those that nobody has used for so many requests, the share that is still needed later, by kind.

    python benchmarks/lab/survival.py --transcripts FOLDER

Needed: the assistant writes something that only this result held; it then begins anew.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "power-mode"))

from popkit_retention.core.policy import kinds
from popkit_retention.core.state import shipped
from popkit_retention.lab import sent_requests
from popkit_retention.lab.engine_policies import TrackingPolicy
from popkit_retention.lab.measure import score
from popkit_retention.lab.replay_policies import ANY_PRICES
from popkit_retention.parallel.sources import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from popkit_retention.core.policy.events import Event
    from popkit_retention.core.policy.ruleset import Ruleset
    from popkit_retention.lab.recorded import Block, Request, Session

# Quiet requests after which it is counted what is needed again.
QUIET = (0, 1, 2, 4, 8, 16, 32, 64, 128)
# Smaller results are not counted.
_LEAST_TOKENS = 60


def survival(session: Session) -> dict[str, list[list[int]]]:
    """{kind: [[results that had been quiet for so many requests, those of them that were needed again], … for each of QUIET]}; a result
    that is needed begins anew."""
    watch = _Watch(shipped.rules())
    score(session, watch, ANY_PRICES)
    watch.cut([])
    return watch.counts


class _Watch(TrackingPolicy):
    """Clears nothing; counts for how long results are quiet, and whether they are needed then."""

    def __init__(self, rules: Ruleset):
        super().__init__(rules)
        self.requests = 0
        self.alive: dict[Block, tuple[str, int]] = {}  # Block -> (kind, requests when it was last of use)
        self.counts: dict[str, list[list[int]]] = {}

    def add(self, block: Block) -> None:
        super().add(block)
        result = self.result(block)
        if result is not None and block.tokens >= _LEAST_TOKENS:
            self.alive[block] = (kinds.learnt_as(result.kind), self.requests)

    def answered(self, request: Request) -> None:
        super().answered(request)
        for block in {max(holders, key=lambda holder: holder.place) for _, holders in request.needs}:
            if block in self.alive:
                kind = self._end(block, 1)
                self.alive[block] = (kind, self.requests + 1)
        self.requests += 1

    def compact(self, event: Event) -> None:
        super().compact(event)
        self.cut([])

    def cut(self, context: list[Block]) -> None:
        for block in set(self.alive).difference(context):
            self._end(block, 0)

    def _end(self, block: Block, needed: int) -> str:
        kind, since = self.alive.pop(block)
        marks = self.counts.setdefault(kind, [[0, 0] for _ in QUIET])
        for mark, quiet in zip(marks, QUIET):
            if self.requests - since >= quiet:
                mark[0] += 1
                mark[1] += needed
        return kind


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path, required=True, help="a folder of *.jsonl")
    options = parser.parse_args()
    sums = {kind: [[0, 0] for _ in QUIET] for kind in kinds.LEARNT}
    for source in find([str(options.transcripts)], print):
        for kind, marks in survival(sent_requests.read(source.address)).items():
            sums[kind] = [[one + more for one, more in zip(*pair)] for pair in zip(sums[kind], marks)]
    print("quiet for   " + "".join(f"{quiet:>7}" for quiet in QUIET))
    for kind, marks in sums.items():
        print(f"{kind:<12}" + "".join(f"{needed / came:>7.1%}" if came else f"{'':>7}" for came, needed in marks))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
