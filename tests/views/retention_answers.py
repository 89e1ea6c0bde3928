"""Answers of the Controller, as its documentation has them, for texts to tell."""

from __future__ import annotations

from popkit_retention.core.archive.content import stamp
from popkit_retention.governance.policies import DEFAULT_POLICY

DAY_S = 86_400.0
NOW = 1_795_000_000.0
HOSTILE = "run \x1b[31mmake\x1b]0;owned\x07 \u202etset\u202c\u200b\r\nthen\tstop \U000e0041 é 漢字 " + "and more " * 20


def at(days: float) -> str:
    """The time so many days ago."""
    return stamp(NOW - days * DAY_S)


def thing(id: str, days: float, label: str = "", *reasons: str) -> dict:
    return {"id": id, "created_at": at(days), "label": label, "reasons": list(reasons)}


def policy(**changes: object) -> dict:
    return {**DEFAULT_POLICY.to_json(), **changes}


def status(**memory: object) -> dict:
    """How both domains stand; `memory`: what is otherwise for that one."""
    nothing = {
        "policy": policy(), "unavailable": "", "counts": {"eligible": 0, "protected": 0, "total": 0}, "left_out": 0, "reasons": {},
        "soon": {"count": 0, "first_at": None}, "marked": 0, "due_at": None, "holds": 0,
    }  # fmt: skip
    return {
        "revision": 3,
        "updated_at": at(2),
        "domains": [{"domain": "memory", **nothing, **memory}, {"domain": "rag", **nothing}],
        "archives": {"count": 2, "bytes": 1_300_000},
    }


def collection(dry_run: bool, **changes: object) -> dict:
    """A collection of memory that has something of everything."""
    found = {
        "domain": "memory",
        "params": {"domain": "memory", **policy(older_than_days=90)},
        "marks": [thing("m3fa91c", 120, "src/checkout/basket_total.ts"), thing("m77aa01", 95.5, HOSTILE)],
        "deletes": [thing("m000001", 300, "npm run test:unit")],
        "waiting": [thing("m200000", 99, "make check")],
        "unmarked": [thing("m123456", 100, "", "used_since_marked"), thing("m654321", 100, "", "on_hold")],
        "kept": {"within_retention_period": 1_200, "on_hold": 3, "placeholder_in_transcript": 1, "protected_session": 7},
        "placeholders": {
            "m3fa91c": ["/home/u/.claude/projects/shop/5e551017-0000-4000-8000-000000000001.jsonl"],
            "m999999": ["/x/y.jsonl"],
        },
        "truncated": True,
        "left_out": 1_500,
        "compacted": not dry_run,
        **changes,
    }
    nothing: dict = dict.fromkeys(("marks", "deletes", "waiting", "unmarked"), ())
    idle = {**found, **nothing, "domain": "rag", "kept": {}, "placeholders": {}, "truncated": False, "left_out": 0, "compacted": False}
    return {"domains": [found, idle], "dry_run": dry_run}


def hold(id: str = "hq3fmk2", **changes: object) -> dict:
    return {
        "domain": "memory", "id": id, "scope": "item", "target": "m3fa91c", "who": "alice", "why": "audit of the checkout",
        "created_at": at(3), "until": at(-9), "released_at": None, "in_force": True, **changes,
    }  # fmt: skip


def explained(**changes: object) -> dict:
    return {
        "domain": "memory", "id": "m3fa91c", "label": "src/checkout/basket_total.ts", "project": "shop-0123456789ab", "session": "first",
        "bytes": 28, "created_at": at(120), "state": "eligible", "reasons": ["older_than_retention_period"], "since": at(90),
        "next": {"what": "marked", "at": None}, "holds": [], "marked": None, "placeholders": [], "stands": "COLD, worth 0.10", **changes,
    }  # fmt: skip


def entry(number: int, action: str, ids: tuple = (), domain: str = "memory", **details: object) -> dict:
    return {
        "number": number, "at": at(10 - number), "by": "user", "action": action, "domain": domain, "ids": list(ids), "details": details,
        "hash": "0" * 64,
    }  # fmt: skip


LOG = [
    entry(9, "abandoned", (), "rag", of=8, problem="the archive was removed before it was finished"),
    entry(8, "released", ("m3fa91c",), hold="hq3fmk2"),
    entry(7, "held", ("m3fa91c",), id="hq3fmk2", scope="item", target="m3fa91c", who="alice", why="audit of the checkout"),
    entry(6, "deleted", ("m000001",), of=5),
    entry(5, "deleting", ("m000001",), older_than_days=90),
    entry(4, "archived", ("m000001", "m000002", "m000003", "m000004"), archive_id="memory-20261122T233000Z-k3f9a2"),
    entry(3, "configured", (), "", revision=2, rolled_back_to=0),
    entry(2, "applied", (), "rag", counts={"eligible": 3, "total": 120}),
    entry(1, "configured", (), revision=1),
]
