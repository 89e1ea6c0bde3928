"""Tell whether the conversation compacts by itself (`auto`). What would leave is the plan of the outlook, as everywhere."""

from __future__ import annotations

from ..policy import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..reclaim.outlook import Outlook
    from ..state.site import Site
    from ..views.shapes import AutoCompaction


def auto_compaction_of(site: Site, seen: Outlook) -> AutoCompaction:
    """Return whether the conversation compacts by itself between turns, and what would leave now."""
    from ..reclaim import auto_compaction

    plan, is_cold = seen.now, seen.now is not None and not seen.now.sum.warm
    tokens = verdict.takes(plan)["tokens"] if plan is not None and plan.share is not None else 0
    usd = plan.usd if plan is not None and tokens else None
    pays_after = plan.sum.pays_after if plan is not None and tokens else None
    bound = auto_compaction.bound(site, seen.rebuilt)
    stays = bound.stays(plan.needs) if plan is not None else 1.0
    if plan is not None and not plan.may_pay(stays):
        stays = 1.0  # building it again would not pay
    return {
        "setting": auto_compaction.setting(site), "is_cold": is_cold, "tokens": tokens, "usd": usd, "pays_after": pays_after,
        "auto_misses": bound.most, "look_ups": bound.look_ups, "requests": bound.requests, "stays": stays,
    }  # fmt: skip
