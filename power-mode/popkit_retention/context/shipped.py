"""What comes with the package: the rules, the table of models, the model of need. Each is read once a process."""

from __future__ import annotations

import functools

from hooks.utils.config import layers
from hooks.utils.edges import home
from hooks.utils.hosts.claude_code.tools import TOOLS
from hooks.utils.policy.ruleset import Ruleset
from hooks.utils.state import shipped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hooks.utils.policy.need import NeedModel


@functools.lru_cache(maxsize=1)
def rules() -> Ruleset:
    """The rules of the shipped configuration."""
    return Ruleset.from_config(layers.load(home.plugin_root(), None, None), TOOLS)


@functools.lru_cache(maxsize=1)
def need_model() -> NeedModel:
    """How likely results are needed again."""
    return shipped.need_model()


def binds_thinking(model: str) -> bool:
    """Whether a model takes its thinking only over the very conversation that it was thought over; one that is not known does."""
    return rules().models.model(model).thinking_bound


def window_of(model: str) -> int | None:
    """The tokens that a model takes; None for one that is not known."""
    known = rules().models.model(model)
    return known.window if known.known else None
