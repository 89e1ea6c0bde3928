"""The text of what a policy releases in one domain, reason by reason."""

from __future__ import annotations

from popkit_retention.core import text

from ...views import pair
from ..domains.rules import ELIGIBLE
from . import wording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..shapes import AppliedAnswer


def applied(answer: AppliedAnswer, described: Mapping[str, Mapping[str, Any]], now: float, most: int | None) -> list[text.Line]:
    """Return what may be deleted under a policy and what it protects, by reason. `described`: the descriptions of the things that are
    shown, by id."""
    domain, counts = answer["domain"], answer["counts"]
    days = answer["policy_applied"]["older_than_days"]
    of = f" of {text.clean(answer['project'])}" if "project" in answer else ""
    lines = text.title(f"{domain}{of}: {wording.counted(counts['total'], domain)}")
    if not counts["total"]:
        return [*lines, "Nothing is stored."]
    why = f": {wording.reason(ELIGIBLE, days)}" if counts["eligible"] else ""
    lines += pair("Eligible", wording.eligible(counts["eligible"], answer["left_out"]) + why)
    lines += wording.listed(_labelled(answer["eligible"], described), most, now)
    lines += pair("Protected", f"{counts['protected']:,}" if counts["protected"] else "none")
    for codes, rows in wording.by_reasons(answer["protected"]).items():
        lines += text.wrap(f"  {len(rows):,}: {wording.reasons(codes, days)}", indent="    ")
        lines += text.indented(wording.listed(_labelled(rows, described), _of_reason(most), now), "  ")
    return lines


def shown_ids(answer: AppliedAnswer, most: int | None) -> list[str]:
    """Return the ids of what `applied` shows."""
    rows = [*wording.beginning(answer["eligible"], most)[0]]
    for of_reason in wording.by_reasons(answer["protected"]).values():
        rows += wording.beginning(of_reason, _of_reason(most))[0]
    return [row["id"] for row in rows]


def _of_reason(most: int | None) -> int | None:
    return None if most is None else min(most, _OF_A_REASON)


def _labelled(rows: Sequence[Mapping[str, Any]], described: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [{**row, "label": described.get(row["id"], {}).get("label", "")} for row in rows]


_OF_A_REASON = 3  # protected things shown of each reason
