"""What one project's policy says otherwise than the user's: an agent asked for it there, and the user accepted it for that project alone.
Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .errors import BadPolicy
from .policies import DEFAULT_POLICY, merged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .policies import RetentionPolicy

# What these lists hold is never deleted, so what the user adds to his own counts in the project, too.
KEEP_LISTS = ("keep_session_ids", "keep_context_ids")


@dataclass(frozen=True)
class Own:
    """`config`: the keys that the project has values of its own for · `released`: of each keep list among them, the ids that the user's
    list held and the project's does not."""

    config: Mapping[str, object] = field(default_factory=dict)
    released: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def over(self, policy: RetentionPolicy) -> RetentionPolicy:
        """The policy that holds in the project, from the user's."""
        values = dict(self.config)
        for key in self.released:
            added = [id for id in getattr(policy, key) if id not in self.released[key]]
            values[key] = tuple(dict.fromkeys((*values[key], *added)))  # type: ignore[misc]  # a tuple
        return replace(policy, **values)  # type: ignore[arg-type]  # each has been read as its field has it

    def changed(self, policy: RetentionPolicy, config: Mapping[str, object]) -> Own:
        """With these values too, as a policy holds them; `policy` is the user's."""
        left = {key: tuple(id for id in getattr(policy, key) if id not in config[key]) for key in KEEP_LISTS if key in config}  # type: ignore[operator]
        return Own({**self.config, **config}, {**self.released, **left})

    def to_json(self) -> dict[str, object]:
        """As a JSON object, which `own_of` reads."""
        return {"config": _listed(self.config), "released": _listed(self.released)}


def own_of(value: object) -> Own:
    """A stored one, read strictly; BadPolicy for what this module did not write."""
    if not isinstance(value, dict) or set(value) != {"config", "released"}:
        raise BadPolicy("a project's policy has the keys config, released")
    config, released = (_read(value[key]) for key in ("config", "released"))
    if set(released) != {key for key in KEEP_LISTS if key in config}:
        raise BadPolicy("released must name the keep lists of config")
    return Own(config, released)  # type: ignore[arg-type]  # keep lists are tuples


def _read(value: object) -> dict[str, object]:
    policy, adjusted = merged(DEFAULT_POLICY, value)  # type: ignore[arg-type]  # anything else than an object is a BadPolicy
    if adjusted:
        raise BadPolicy(f"{adjusted[0].key}: {adjusted[0].why}")
    return {key: getattr(policy, key) for key in value}  # type: ignore[attr-defined]


def _listed(values: Mapping[str, object]) -> dict[str, object]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
