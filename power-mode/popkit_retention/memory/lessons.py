"""What a session teaches, before it is merged into memory. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Observed:
    """Something that the assistant wrote, or that the user said to remember: `text` as an Item's, of this `kind`, `writes` times in the
    session, the last time `at` (seconds). `details`: what else there is to know, as JSON knows it: an error's fix, a command's family."""

    kind: str
    text: str
    writes: int = 1
    at: float = 0.0
    details: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Lesson:
    """What one session taught. `session`: its id · `project`: see `hooks.utils.edges.repository` · `began`, `ended`: seconds · `observed`:
    one for each (kind, text) · `unaided`: the texts among them that the assistant wrote before any result or prompt of this session held
    them, so that it can only have known them from memory · `lookups`: how many results of searches and reads there were, of `lookup_tokens`
    tokens together · `root`: the checkout that it was held in, "" where that is not known."""

    session: str
    project: str
    began: float
    ended: float
    observed: tuple[Observed, ...] = ()
    unaided: tuple[str, ...] = ()
    lookups: int = 0
    lookup_tokens: int = 0
    root: str = ""
