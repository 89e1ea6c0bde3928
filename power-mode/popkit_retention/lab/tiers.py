"""The tiers of a profile as a policy: what has expired by the specification's rules goes, at once or when the cache is cold."""

from __future__ import annotations

from hooks.utils.config import layers
from hooks.utils.edges import home
from hooks.utils.hosts.claude_code.tools import TOOLS
from hooks.utils.policy import planning
from hooks.utils.policy.events import Tick
from hooks.utils.policy.ruleset import Ruleset

from .sessions import tokens_of
from .tracked import Tracked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.events import Event

    from .measure import Choice, View
    from .sessions import Block


def shipped_rules(profile: str | None = None) -> Ruleset:
    """The rules of the shipped configuration under a profile."""
    return Ruleset.from_config(layers.load(home.plugin_root(), None, None), TOOLS, profile)


class Tiers(Tracked):
    """Clears results that have expired under a Ruleset; with `only_cold` right before requests that write the whole prompt anyway. A
    result that came back stays, and one that is no longer than its placeholder is left alone."""

    def __init__(self, rules: Ruleset, only_cold: bool = False):
        super().__init__(rules)
        self.only_cold = only_cold
        self.standing: dict[str, Block] = {}  # id -> Block of the results that were never cleared

    def add(self, block: Block) -> None:
        super().add(block)
        if block.id:
            self.standing[block.id] = block

    def compact(self, event: Event) -> None:
        super().compact(event)
        self.standing = {}

    def cut(self, context: list[Block]) -> None:
        super().cut(context)
        left = {block.id for block in context if block.id}
        self.standing = {id: block for id, block in self.standing.items() if id in left}

    def decide(self, view: View) -> list[Choice]:
        super().decide(view)
        if self.only_cold and not view.cold:
            return []
        self.event(Tick(view.now))
        decisions = []
        for id, block in list(self.standing.items()):
            result = self.state.expired.get(id)
            if result is not None:
                del self.standing[id]
                text = self.notice(block, result)
                if tokens_of(len(text)) <= block.tokens * planning.MOST_SHARE:
                    decisions.append((block, text, list(result.reasons)))
        return decisions
