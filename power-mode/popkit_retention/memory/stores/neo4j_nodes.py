"""Items as the properties of nodes, and back; queries of the full-text index; what went wrong, in words. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from hooks.utils.policy.estimate import estimate_tokens

from ..items import ACCESSES_KEPT, Item
from ..terms import terms_of
from .checks import FIELDS
from .neo4j_cypher import PROPERTIES, TIMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

OLDEST = 5  # the first release of Neo4j whose schema statements are those of now
LONGEST_QUERY = 500  # terms

_TIMES = [FIELDS.index(name) for name in TIMES]
_DETAILS = FIELDS.index("details")


def parts_of(seconds: float) -> tuple[int, int]:
    """A time as whole seconds and nanoseconds: of a time of these days no bit is lost."""
    whole = int(seconds)
    nanoseconds = round((seconds - whole) * 1_000_000_000)
    return (whole + 1, 0) if nanoseconds == 1_000_000_000 else (whole, nanoseconds)


def item_of(values: Sequence[Any]) -> Item:
    """An item from what `neo4j_cypher.reading` gives."""
    fields = list(values)
    for at in _TIMES:
        if fields[at] is not None:
            fields[at] = (fields[at][0] * 1_000_000_000 + fields[at][1]) / 1_000_000_000
    fields[_DETAILS] = json.loads(fields[_DETAILS])
    return Item(*fields)


def properties_of(fields: Mapping[str, object], time_of: Callable[[float], object]) -> dict[str, object]:
    """Fields as properties; `time_of` makes the driver's kind of time."""
    made: dict[str, Any] = {}
    for name, value in fields.items():
        if name in TIMES and value is not None:
            value = time_of(float(value))  # type: ignore[arg-type]
        elif name == "details":
            value = json.dumps(value)
        elif name == "accesses":
            value = [float(at) for at in sorted(value)[-ACCESSES_KEPT:]]  # type: ignore[call-overload]
        elif name == "embedding" and value is not None:
            value = [float(x) for x in value]  # type: ignore[attr-defined]
        elif isinstance(value, int) and name in _FLOATS:
            value = float(value)
        made[PROPERTIES.get(name, name)] = value
    if "text" in fields:
        made["token_count"] = estimate_tokens(str(fields["text"]))
    if "project" in fields:
        made["shelf"] = shelf_of(str(fields["project"]))
    return made


def found_by(id: str, text: str, marked: bool) -> dict[str, object]:
    """The properties by which an item is found; one that is marked by none."""
    terms = terms_of(text)
    return {"id": id, "terms": None if marked else " ".join(terms), "length": len(terms)}


def shelf_of(project: str) -> str:
    """A project as one word of the index."""
    return "p" + hashlib.sha256(project.encode()).hexdigest()[:16]


def query_of(terms: Sequence[str], project: str | None) -> str:
    """What holds any of these terms, in Lucene's words; "" where there are none that could be held."""
    quoted = [
        'terms:"' + term.replace("\\", "\\\\").replace('"', '\\"') + '"' for term in dict.fromkeys(terms) if term and not term.isspace()
    ]
    if not quoted:
        return ""
    held = " ".join(quoted[:LONGEST_QUERY])
    return held if project is None else f"+shelf:{shelf_of(project)} +({held})"


def complaint_about(name: str, versions: Sequence[str]) -> str:
    """What is wrong with the version that a server tells; "" where nothing is."""
    version = versions[0] if versions else ""
    major = version.split(".", maxsplit=1)[0]
    if not major.isdigit():
        return f"{name} does not tell its version ({version!r:.40}). Use Neo4j {OLDEST} or later"
    return "" if int(major) >= OLDEST else f"it is {name} {version}. Update it to {OLDEST} or later"


def explained(kind: str, code: str, said: str) -> str:
    """What to do about an error of the driver: its class, its code ("" where it has none), its message."""
    for signs, advice in _ADVICE:
        if any(sign in kind or sign in code for sign in signs):
            return advice
    return f"it cannot do that ({said.splitlines()[0] if said else kind:.200})"


_FLOATS = frozenset(("confidence", "uniqueness", "score", "tier_score", "retention"))
_ADVICE: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("AuthError", "Security.Unauthorized", "TokenExpired", "CredentialsExpired", "AuthenticationRateLimit"),
        "it refuses the login. Set NEO4J_USER and NEO4J_PASSWORD",
    ),
    (
        ("ReadOnly", "Security.Forbidden", "NotALeader", "AccessMode"),
        "it may only be read. Make it writable, or choose another memory.store",
    ),
    (
        ("DatabaseNotFound", "DatabaseUnavailable"),
        "its database is not there. Set NEO4J_DATABASE",
    ),
    (
        ("Timeout", "TimedOut", "Terminated", "LockClient", "Transient", "OutOfMemory", "DeadlockDetected"),
        "it takes too long. Try again when it has less to do",
    ),
    (
        ("ServiceUnavailable", "SessionExpired", "ConnectionAcquisition", "OSError", "IncompleteCommit"),
        "it cannot be reached. Start it, or check memory.store",
    ),
    (
        ("ConfigurationError", "ValueError", "UnsupportedServerProduct"),
        "the address is not valid. Write memory.store like neo4j://host:7687",
    ),
)
