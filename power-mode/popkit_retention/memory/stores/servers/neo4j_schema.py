"""The store in Neo4j, without its driver: statements, items as the properties of nodes, full-text queries, advice on errors. Pure.

Its nodes are the specification's (part 2.3): (:KnowledgeChunk) for an item in full, (:CompressedContext) for one at another level, with the
properties that it names. Ours also have the label :PopkitItem, which identifies them: other nodes are never touched.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from popkit_retention.core.policy.estimate import estimate_tokens

from ...filters import EQUAL, IN, SCOPES
from ...items import ACCESSES_KEPT, AGENT, EMBEDDING, Item
from ...terms import terms_of
from ..shared import FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...filters import Condition

VERSION = 1  # of the statements below; a later PopKit counts up

# The properties of fields with another name there. Points of time are DateTimes.
PROPERTIES = {
    "text": "content",
    "reinforcements": "reinforcement_count",
    "tier_since": "tier_changed_at",
    "level": "compression_level",
    "score": "composite_score",
    "retention": "retention_probability",
}
TIMES = ("created_at", "last_accessed", "tier_since", "marked_at", "expires_at")

INDEX = "popkit_terms"
SCHEMA = (
    "CREATE CONSTRAINT popkit_item_id IF NOT EXISTS FOR (n:PopkitItem) REQUIRE n.id IS UNIQUE",
    "CREATE CONSTRAINT popkit_value_key IF NOT EXISTS FOR (n:PopkitValue) REQUIRE n.key IS UNIQUE",
    "CREATE CONSTRAINT popkit_counter_name IF NOT EXISTS FOR (n:PopkitCounter) REQUIRE n.name IS UNIQUE",
    "CREATE INDEX popkit_item_project IF NOT EXISTS FOR (n:PopkitItem) ON (n.project, n.id)",
    "CREATE INDEX popkit_item_place IF NOT EXISTS FOR (n:PopkitItem) ON (n.episode, n.place)",
    "CREATE INDEX popkit_entry_seq IF NOT EXISTS FOR (n:PopkitEntry) ON (n.seq)",
    "CREATE INDEX popkit_entry_item IF NOT EXISTS FOR (n:PopkitEntry) ON (n.item, n.seq)",
    "CREATE INDEX knowledge_chunk_retention IF NOT EXISTS FOR (kc:KnowledgeChunk) ON (kc.composite_score, kc.last_accessed)",
    "CREATE INDEX compressed_context_retention IF NOT EXISTS FOR (cc:CompressedContext) ON (cc.composite_score, cc.last_accessed)",
    # The terms are ours, joined by blanks; `shelf` is the project as one word.
    f"""CREATE FULLTEXT INDEX {INDEX} IF NOT EXISTS FOR (n:PopkitItem) ON EACH [n.terms, n.shelf]
    OPTIONS {{indexConfig: {{`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: false}}}}""",
)
GET_VERSION = "OPTIONAL MATCH (n:PopkitCounter {name: 'schema'}) RETURN n.next"
SET_VERSION = "MERGE (n:PopkitCounter {name: 'schema'}) SET n.next = $version"
AWAIT_INDEXES = "CALL db.awaitIndexes(60)"
COMPONENTS = "CALL dbms.components() YIELD name, versions, edition RETURN name, versions, edition"


def reading(fields: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    """Return the clause that reads a node's fields, a time as [seconds, nanoseconds] or null, the fields to leave out as null."""

    def read(name: str) -> str:
        if name in without:
            return "null"
        at = "n." + PROPERTIES.get(name, name)
        return f"CASE WHEN {at} IS NULL THEN null ELSE [{at}.epochSeconds, {at}.nanosecond] END" if name in TIMES else at

    return "RETURN " + ", ".join(map(read, fields))


ADD = "UNWIND $rows AS row CREATE (n:PopkitItem) SET n = row"
GET = "UNWIND range(0, size($ids) - 1) AS at MATCH (n:PopkitItem {id: $ids[at]}) WITH n, at ORDER BY at "
SCAN = """
MATCH (n:PopkitItem) WHERE n.id > $last
  AND ($project IS NULL OR n.project = $project) AND (size($kinds) = 0 OR n.kind IN $kinds) AND (size($tiers) = 0 OR n.tier IN $tiers)
  AND ($marked IS NULL OR (n.marked_at IS NOT NULL) = $marked) AND all(name IN keys($scopes) WHERE n[name] IN $scopes[name])
WITH n ORDER BY n.id LIMIT $most
"""
SCAN_PROJECT = SCAN.replace("($project IS NULL OR n.project = $project)", "n.project = $project")
_LISTABLE = f"""
MATCH (n:PopkitItem) WHERE n.project = $project AND all(name IN keys($scopes) WHERE n[name] IN $scopes[name])
  AND n.marked_at IS NULL AND n.source <> '{AGENT}' AND n.compression_level <> '{EMBEDDING}'
  AND (n.expires_at IS NULL OR n.expires_at > $at)
"""
PINNED = f"{_LISTABLE} AND n.held WITH n ORDER BY n.id SKIP $skipped LIMIT $most "
LISTABLE_KINDS = f"{_LISTABLE} RETURN DISTINCT n.kind"
BY_USE = tuple(
    f"{_LISTABLE} AND n.kind = $kind WITH n ORDER BY n.{used} DESC, n.created_at DESC, n.id SKIP $skipped LIMIT $most "
    for used in ("sessions", "session")
)
# Setting a property first takes the node's lock, and the values read after that are current: of two writers, neither loses anything.
CHANGE = """
UNWIND $rows AS row MATCH (n:PopkitItem {id: row.id})
SET n.locked = true
WITH n, row
SET n += row.to,
    n.writes = CASE WHEN n.writes + row.writes < 0 THEN 0 ELSE n.writes + row.writes END,
    n.sessions = CASE WHEN n.sessions + row.sessions < 0 THEN 0 ELSE n.sessions + row.sessions END,
    n.reinforcement_count =
      CASE WHEN n.reinforcement_count + row.reinforcements < 0 THEN 0 ELSE n.reinforcement_count + row.reinforcements END,
    n.locked = null
RETURN count(*) AS there
"""
ACCESS = """
MATCH (n:PopkitItem) WHERE n.id IN $ids
WITH n ORDER BY n.id
SET n.locked = true
WITH n
SET n.access_count = n.access_count + 1,
    n.last_accessed = CASE WHEN n.last_accessed < $at THEN $at ELSE n.last_accessed END,
    n.accesses = ([x IN n.accesses WHERE x <= $seconds] + $seconds + [x IN n.accesses WHERE x > $seconds])[-$kept..],
    n.session = CASE WHEN n.session < $session THEN $session ELSE n.session END,
    n.locked = null
RETURN count(*) AS there
"""
TEXTS = "MATCH (n:PopkitItem) WHERE n.id IN $ids RETURN n.id, n.content, n.project, n.marked_at IS NOT NULL"
SET_TERMS = "UNWIND $rows AS row MATCH (n:PopkitItem {id: row.id}) SET n += row"
# Derived from the rest: the label of its level, and the specification's signals, for queries made to the database itself.
SETTLE = """
MATCH (n:PopkitItem) WHERE n.id IN $ids
FOREACH (_ IN CASE WHEN n.compression_level = 'full' THEN [1] ELSE [] END | SET n:KnowledgeChunk REMOVE n:CompressedContext)
FOREACH (_ IN CASE WHEN n.compression_level = 'full' THEN [] ELSE [1] END | SET n:CompressedContext REMOVE n:KnowledgeChunk)
WITH n, datetime().epochMillis / 1000.0 AS now
WITH n, now, CASE WHEN n.last_accessed.epochSeconds < now THEN (now - n.last_accessed.epochSeconds) / 86400.0 ELSE 0.0 END AS days,
     reduce(sum = 0.0, x IN n.accesses | sum + CASE WHEN x < now THEN exp(-0.05 * (now - x) / 86400.0) ELSE 1.0 END) / 20.0 AS frequency
WITH n, frequency, exp(-0.1 * days) * (1.0 + 0.1 * n.reinforcement_count) AS recency
SET n.memory_strength = 7.0 * 1.5 ^ CASE WHEN n.reinforcement_count < 1000 THEN n.reinforcement_count ELSE 1000 END,
    n.retention_value = CASE WHEN frequency < 1.0 THEN frequency ELSE 1.0 END,
    n.access_recency = CASE WHEN recency < 1.0 THEN recency ELSE 1.0 END
"""
REMOVE = "MATCH (n:PopkitItem) WHERE n.id IN $ids DETACH DELETE n RETURN count(*) AS there"
KEEP_ORIGINAL = "MATCH (n:PopkitItem {id: $id}) SET n.original = true, n.original_hash = $hash, n.original_content = $content"
ORIGINAL = "MATCH (n:PopkitItem {id: $id}) WHERE n.original_content IS NOT NULL RETURN n.original_hash, n.original_content"

FIND = f"CALL db.index.fulltext.queryNodes('{INDEX}', $query, {{limit: $most}}) YIELD node AS n, score WITH n ORDER BY score DESC "
FIND_IN_SCOPES = f"""
CALL db.index.fulltext.queryNodes('{INDEX}', $query) YIELD node AS n, score WHERE all(name IN keys($scopes) WHERE n[name] IN $scopes[name])
WITH n ORDER BY score DESC SKIP $skipped LIMIT $most
"""
HOLDING = f"""
UNWIND $queries AS query
CALL {{ WITH query CALL db.index.fulltext.queryNodes('{INDEX}', query) YIELD node RETURN count(node) AS holding }}
RETURN holding
"""
EXTENT = """
MATCH (n:PopkitItem) WHERE ($project IS NULL OR n.project = $project) AND n.marked_at IS NULL
RETURN count(n), coalesce(sum(n.length), 0)
"""
EXTENT_PROJECT = EXTENT.replace("($project IS NULL OR n.project = $project)", "n.project = $project")
AROUND = """
UNWIND range(0, size($places) - 1) AS at MATCH (n:PopkitItem {episode: $places[at][0], place: $places[at][1]}) WITH n, at ORDER BY at, n.id
"""
TOTALS = """
MATCH (n:PopkitItem) WHERE $project IS NULL OR n.project = $project
RETURN n.project AS project, n.tier AS tier, n.compression_level AS level, count(*) AS items, sum(n.token_count) AS tokens
ORDER BY project, tier, level
"""
VALUE = "MATCH (n:PopkitValue {key: $key}) RETURN n.value"
# Nobody else writes it until the transaction ends.
HOLD_VALUE = "MERGE (n:PopkitValue {key: $key}) SET n.locked = true SET n.locked = null RETURN n.value"
VALUES = "MATCH (n:PopkitValue) WHERE n.key STARTS WITH $prefix RETURN n.key, n.value ORDER BY n.key"
SET_VALUE = "MERGE (n:PopkitValue {key: $key}) SET n.value = $value"
FORGET_VALUE = "MATCH (n:PopkitValue {key: $key}) DELETE n"
LOG = """
MERGE (c:PopkitCounter {name: 'entries'})
SET c.next = coalesce(c.next, 0) + size($rows)
WITH c.next - size($rows) AS first
UNWIND range(0, size($rows) - 1) AS at
CREATE (:PopkitEntry {seq: first + at, item: $rows[at][0], entry: $rows[at][1]})
"""
LOGGED = "MATCH (n:PopkitEntry) WHERE n.seq >= 0 RETURN n.entry ORDER BY n.seq DESC LIMIT $most"
LOGGED_ITEM = "MATCH (n:PopkitEntry {item: $id}) WHERE n.seq >= 0 RETURN n.entry ORDER BY n.seq DESC LIMIT $most"
# Entries are numbered without gaps.
SHORTEN_LOG = """
MATCH (c:PopkitCounter {name: 'entries'})
MATCH (n:PopkitEntry) WHERE n.seq < c.next - $most
WITH n LIMIT $rows
DELETE n
RETURN count(*) AS deleted
"""
PROBLEMS = """
MATCH (n:PopkitItem)
WHERE (n.compression_level = 'full') <> (n:KnowledgeChunk) OR (n:KnowledgeChunk) = (n:CompressedContext)
   OR (n.marked_at IS NULL) <> (n.terms IS NOT NULL)
RETURN n.id LIMIT 20
"""


OLDEST = 5  # the first release of Neo4j with today's schema statements
LONGEST_QUERY = 500  # terms

_TIMES = [FIELDS.index(name) for name in TIMES]
_DETAILS, _METADATA, _REINFORCED = FIELDS.index("details"), FIELDS.index("metadata"), FIELDS.index("reinforced")
_BY_HAND = FIELDS.index("by_hand")
_SCOPES = [FIELDS.index(name) for name in SCOPES]


def parts_of(seconds: float) -> tuple[int, int]:
    """Return a time as whole seconds and nanoseconds: a present-day time loses no bit."""
    whole = int(seconds)
    nanoseconds = round((seconds - whole) * 1_000_000_000)
    return (whole + 1, 0) if nanoseconds == 1_000_000_000 else (whole, nanoseconds)


def item_of(values: Sequence[Any]) -> Item:
    """Return an item from the values that `reading` gives."""
    fields = list(values)
    for at in _TIMES:
        if fields[at] is not None:
            fields[at] = (fields[at][0] * 1_000_000_000 + fields[at][1]) / 1_000_000_000
    fields[_DETAILS] = json.loads(fields[_DETAILS])
    # An earlier release kept no times, metadata, scopes and moves.
    fields[_REINFORCED] = fields[_REINFORCED] or []
    fields[_METADATA] = json.loads(fields[_METADATA] or "{}")
    for at in _SCOPES:
        fields[at] = fields[at] or ""
    fields[_BY_HAND] = bool(fields[_BY_HAND])
    return Item(*fields)


def properties_of(fields: Mapping[str, object], time_of: Callable[[float], object]) -> dict[str, object]:
    """Return fields as properties; `time_of` makes the driver's kind of time."""
    properties: dict[str, object] = {}
    for name, value in fields.items():
        if name in TIMES and value is not None:
            value = time_of(float(value))  # type: ignore[arg-type]
        elif name in ("details", "metadata"):
            value = json.dumps(value)
        elif name in ("accesses", "reinforced"):
            value = [float(at) for at in sorted(value)[-ACCESSES_KEPT:]]  # type: ignore[call-overload]
        elif name == "embedding" and value is not None:
            value = [float(x) for x in value]  # type: ignore[attr-defined]
        elif isinstance(value, int) and name in _FLOATS:
            value = float(value)
        properties[PROPERTIES.get(name, name)] = value
    if "text" in fields:
        properties["token_count"] = estimate_tokens(str(fields["text"]))
    if "project" in fields:
        properties["shelf"] = shelf_of(str(fields["project"]))
    return properties


def index_properties(id: str, text: str, marked: bool) -> dict[str, object]:
    """Return the properties by which an item is found; none for a marked one."""
    terms = terms_of(text)
    return {"id": id, "terms": None if marked else " ".join(terms), "length": len(terms)}


def scopes_of(where: Sequence[Condition]) -> dict[str, list[str]]:
    """Return the scopes that items must have for conditions to hold: field -> values, of which an item has one. The rest of the conditions
    is for the caller to look at."""
    scopes: dict[str, list[str]] = {}
    for condition in where:
        values = condition.value if condition.operator == IN else [condition.value] if condition.operator == EQUAL else []
        if condition.field in SCOPES and values and all(values):  # type: ignore[arg-type]
            known = scopes.get(condition.field)
            scopes[condition.field] = [value for value in values if known is None or value in known]  # type: ignore[attr-defined]
    return scopes


def shelf_of(project: str) -> str:
    """Return a project as one word of the index."""
    return "p" + hashlib.sha256(project.encode()).hexdigest()[:16]


def query_of(terms: Sequence[str], project: str | None) -> str:
    """Return a Lucene query for nodes with any of these terms; "" where no node could have one."""
    quoted = [
        'terms:"' + term.replace("\\", "\\\\").replace('"', '\\"') + '"' for term in dict.fromkeys(terms) if term and not term.isspace()
    ]
    if not quoted:
        return ""
    held = " ".join(quoted[:LONGEST_QUERY])
    return held if project is None else f"+shelf:{shelf_of(project)} +({held})"


def complaint_about(name: str, versions: Sequence[str]) -> str:
    """Return what is wrong with the version that a server reports; "" where it is fine."""
    version = versions[0] if versions else ""
    major = version.split(".", maxsplit=1)[0]
    if not major.isdecimal():
        return f"{name} does not report its version ({version!r:.40}). Use Neo4j {OLDEST} or later"
    return "" if int(major) >= OLDEST else f"it is {name} {version}. Update it to {OLDEST} or later"


def explained(kind: str, code: str, message: str) -> str:
    """Return advice on an error of the driver: its class, its code ("" where it has none), its message."""
    for signs, advice in _ADVICE:
        if any(sign in kind or sign in code for sign in signs):
            return advice
    return f"it cannot do that ({message.splitlines()[0] if message else kind:.200})"


_FLOATS = frozenset(("confidence", "uniqueness", "score", "tier_score", "retention"))
_ADVICE: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("AuthError", "Security.Unauthorized", "TokenExpired", "CredentialsExpired", "AuthenticationRateLimit"),
        "it refuses the login. Set NEO4J_USER and NEO4J_PASSWORD",
    ),
    (
        ("ReadOnly", "Security.Forbidden", "NotALeader", "AccessMode"),
        "it is read-only. Make it writable, or choose another memory.store",
    ),
    (("DatabaseNotFound", "DatabaseUnavailable"), "it has no such database. Set NEO4J_DATABASE"),
    (
        ("Timeout", "TimedOut", "Terminated", "LockClient", "Transient", "OutOfMemory", "DeadlockDetected"),
        "it took too long. Try again when it is less busy",
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
