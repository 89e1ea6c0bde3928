"""The lesson of one session, before it is merged into the items of memory. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Observation:
    """Something that the assistant opened, ran or looked for, or that the user said to remember: `text` as an Item's, of this `kind`,
    `writes` times in the session, the last time `at` (seconds). `details`: anything else that is known, as JSON: an error's fix, a
    command's purpose, the file that it is about with its blob, the commit of the checkout."""

    kind: str
    text: str
    writes: int = 1
    at: float = 0.0
    details: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Showing:
    """Something that memory showed a session, as `text`, and what the assistant `wrote` in the requests right after it."""

    text: str
    wrote: str


@dataclass(frozen=True)
class Lesson:
    """The lesson of one session. `session`: its id · `project`: see `popkit_retention.core.io.repository` · `began`, `ended`: seconds ·
    `observed`: one for each (kind, text) · `unaided`: the texts among them that the assistant wrote before any result or prompt of this
    session contained them, so that it can only have known them from memory · `lookups`: how many results of searches and reads there were,
    of `lookup_tokens` tokens together · `root`: the checkout that it worked in, "" where that is not known · `shown`: what memory showed it
    · `written`: (kind, text) of names that were merely written: an access of known items, and nothing new · `missing`: (kind, text) of
    files that it found missing, and of commands that no longer exist."""

    session: str
    project: str
    began: float
    ended: float
    observed: tuple[Observation, ...] = ()
    unaided: tuple[str, ...] = ()
    lookups: int = 0
    lookup_tokens: int = 0
    root: str = ""
    shown: tuple[Showing, ...] = ()
    written: tuple[tuple[str, str], ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
