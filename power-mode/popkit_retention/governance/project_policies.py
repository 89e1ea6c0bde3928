"""Projects' own policies: how one project's differs from the user's, as the user agreed for that project alone. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .errors import BadPolicy
from .policies import RetentionPolicy, strictly_merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


# What these lists hold is never deleted, so what the user adds to his own counts in the project, too.
KEEP_LISTS = ("keep_session_ids", "keep_context_ids")


@dataclass(frozen=True)
class OwnPolicy:
    """The differences of a project's own policy. `config`: the keys for which the project has its own values · `released`: for each keep
    list among them, the ids that are on the user's list but not on the project's."""

    config: Mapping[str, object] = field(default_factory=dict)
    released: Mapping[str, tuple[object, ...]] = field(default_factory=dict)

    def over(self, policy: RetentionPolicy) -> RetentionPolicy:
        """Return the project's policy, from the user's."""
        values = dict(self.config)
        for key in self.released:
            added = [id for id in getattr(policy, key) if id not in self.released[key]]
            values[key] = tuple(dict.fromkeys((*values[key], *added)))  # type: ignore[misc]  # a tuple
        return replace(policy, **values)  # type: ignore[arg-type]  # each has been read as its field has it

    def changed(self, policy: RetentionPolicy, config: Mapping[str, object]) -> OwnPolicy:
        """Return the differences with these values added, as a policy has them; `policy` is the user's."""
        left = {key: tuple(id for id in getattr(policy, key) if id not in config[key]) for key in KEEP_LISTS if key in config}  # type: ignore[operator]
        return OwnPolicy({**self.config, **config}, {**self.released, **left})

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object, which `own_of` reads."""
        return {"config": _jsonable(self.config), "released": _jsonable(self.released)}


def own_of(value: object) -> OwnPolicy:
    """Return a stored Own, read strictly; BadPolicy for one that this module did not write."""
    if not isinstance(value, dict) or set(value) != {"config", "released"}:
        raise BadPolicy("a project's policy has the keys config, released")
    config, released = (_read(value[key]) for key in ("config", "released"))
    if set(released) != {key for key in KEEP_LISTS if key in config}:
        raise BadPolicy("released must name the keep lists of config")
    return OwnPolicy(config, released)  # type: ignore[arg-type]  # keep lists are tuples


def _read(value: object) -> dict[str, object]:
    policy = strictly_merged(value)
    return {key: getattr(policy, key) for key in value}  # type: ignore[attr-defined]


def _jsonable(values: Mapping[str, object]) -> dict[str, object]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
