"""Decide whether the conversation compacts by itself between turns, once its prompt cache is cold or it is long.

The user's choice decides, how much stays of it then, and the bound on what is looked up again. Writes nothing but that choice, into a small
file of our folder (a damaged one counts as empty).
"""

from __future__ import annotations

from ..hosts import is_kept
from ..io import files
from ..io.codec import dumps
from ..io.storage import LOGS, Storage
from ..io.system import join
from ..policy.bound import Bound
from ..policy.least_needed import COLD_TARGET, LONG, Goal
from ..policy.ruleset import AUTO_MISSES, COMPACT_TARGET
from ..state import removals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..policy.conversation import Conversation
    from ..state.journal import Entry
    from ..state.rebuild import Rebuild
    from ..state.site import Site

FILE = "consents.json"
STORAGE = (Storage(LOGS, {"": r"consents\.json"}),)
ABOUT = "compact_when_cold"
ON, OFF, ASK = "on", "off", "ask"
_YES, _NO = "yes", "no"


def setting(site: Site) -> str:
    """Return ON, OFF or ASK: the configuration's value, or the user's answer where that is to ask."""
    configured = str(site.config.get(ABOUT, ASK))
    if site.config.get("compact", ON) != ON or not site.enabled or is_kept(site.session_id):
        return OFF
    if configured != ASK:
        return configured
    answer = files.read_object(join(site.lasting_home, FILE)).get(ABOUT)
    return ON if answer == _YES else OFF if answer == _NO else ASK


def choose(site: Site, on: bool) -> None:
    """Keep the user's answer for all sessions, in place of an earlier one. OSError where it cannot be written."""
    files.make_private_folder(site.lasting_home)
    path = join(site.lasting_home, FILE)
    with files.lock_of(path):
        files.replace_text(path, dumps({**files.read_object(path), ABOUT: _YES if on else _NO}))


def goal(site: Site, rebuilt: Rebuild, entries: Sequence[Entry]) -> Goal | None:
    """Return how much stays of a conversation that is compacted between turns; None where nothing goes on to what is needed least, because
    Claude Code compacts in our place or the host lets nobody change what it has sent. `entries`: of the journal."""
    if not (site.enabled or site.only_reads) or is_kept(site.session_id) or rebuilt.index.doubts or rebuilt.index.translated:
        return None
    return goal_under(site.config, rebuilt.conversation, entries)


def goal_under(config: Mapping[str, Any], conversation: Conversation, entries: Sequence[Entry]) -> Goal | None:
    """Return the same under a configuration, wherever the conversation has been; None, too, where no request has shown what stands."""
    if config.get("enabled") is False or config.get("compact", ON) != ON or not conversation.is_measured:
        return None
    share = max(COLD_TARGET, float(config.get("compact_target", COMPACT_TARGET)))  # never less than where room is needed
    compacted_at = next((usage.at for usage, _ in reversed(conversation.requests) if not usage.tokens), None)
    left = removals.brought_down_to(entries, compacted_at) if compacted_at is not None else 0
    return Goal(share, left, long=LONG)


def bound(site: Site, rebuilt: Rebuild | None) -> Bound:
    """Return the bound on look-ups caused by PopKit, with their number in a conversation."""
    most = float(site.config.get("auto_misses", AUTO_MISSES))
    if rebuilt is None:
        return Bound(most, 0, 0, 0.0)
    looked_up = rebuilt.conversation.look_ups
    return Bound(most, looked_up.count, rebuilt.conversation.count, looked_up.taken)
