"""`clear`: what a clear would take out of the context, as a dry run. A report in, data and lines out. Changes nothing."""

from __future__ import annotations

from ..policy.tiers import TIERS
from . import text
from .details import result_line

_MOST = 10  # results of one tier, unless everything is asked for
HONEST = "Dry run: this version only shows. Nothing was cleared or changed."


def preview(report: dict, tier: str = "") -> dict:
    """What would go: everything expired, or with a tier that tier's live results too; never what is pinned."""
    rows = [row for row in report["results"] if _would_go(row, tier)]
    tiers: dict = {}
    for name in TIERS:
        mine = [row for row in rows if row["tier"] == name]
        if mine:
            tiers[name] = {"items": len(mine), "tokens": _tokens(mine), "results": mine}
    held = [row for row in report["results"] if row["pinned_by"] and (not tier or row["tier"] == tier)]
    return {
        "dry_run": True,
        "tier": tier or None,
        "items": len(rows),
        "tokens": _tokens(rows),
        "live_items": sum(row["state"] == "live" for row in rows),
        "pinned_items": len(held),
        "tiers": tiers,
    }


def _would_go(row: dict, tier: str) -> bool:
    if tier:
        return row["tier"] == tier and not row["pinned_by"]
    return row["state"] == "expired"


def _tokens(rows: list) -> int:
    return sum(row["tokens"] for row in rows)


def clear_lines(found: dict, everything: bool = False) -> list:
    """The lines of a preview."""
    lines = text.title("Clear: what would go" + (f" of {found['tier']}" if found["tier"] else ""))
    if not found["items"]:
        lines += text.wrap(_nothing(found))
    for tier, have in found["tiers"].items():
        lines += _tier_lines(tier, have, everything)
    if found["items"]:
        lines += text.wrap(f"Together {text.long_tokens(found['tokens'])} from {text.counted(found['items'], 'result')}{_of_which(found)}.")
    return [*lines, *([] if found["items"] else [""]), HONEST]


def largest_lines(found: dict, most: int = 8) -> list:
    """The largest results of a preview, whatever their tier."""
    lines = text.title("What could be reclaimed")
    rows = sorted([row for have in found["tiers"].values() for row in have["results"]], key=lambda row: -row["tokens"])
    if not rows:
        return [*lines, "Nothing: no result has expired."]
    lines += [result_line(row, text.WIDTH) for row in rows[:most]]
    if len(rows) > most:
        lines.append(f"  … {text.counted(len(rows) - most, 'smaller one')}, {text.long_tokens(_tokens(rows[most:]))}")
    return [*lines, *text.wrap(f"Together {text.long_tokens(found['tokens'])} from {text.counted(found['items'], 'expired result')}.")]


def _nothing(found: dict) -> str:
    if found["tier"] and found["pinned_items"]:
        return f"Nothing: what {found['tier']} holds is pinned."
    return f"Nothing: {found['tier']} holds no results." if found["tier"] else "Nothing: no result has expired."


def _of_which(found: dict) -> str:
    said = []
    if found["live_items"]:
        said.append(f"{found['live_items']} of them still live, forced by --tier")
    if found["tier"] and found["pinned_items"]:
        said.append(f"{found['pinned_items']} pinned would stay")
    return ", " + ", ".join(said) if said else ""


def _tier_lines(tier: str, have: dict, everything: bool) -> list:
    rows = sorted(have["results"], key=lambda row: -row["tokens"])
    shown = rows if everything else rows[:_MOST]
    lines = [f"{tier.capitalize()}: {text.counted(have['items'], 'result')}, {text.long_tokens(have['tokens'])}"]
    lines += [result_line(row, text.WIDTH) for row in shown]
    if len(shown) < len(rows):
        rest = sum(row["tokens"] for row in rows[len(shown) :])
        lines.append(f"  … {text.counted(len(rows) - len(shown), 'smaller one')}, {text.long_tokens(rest)}: add --all")
    return [*lines, ""]
