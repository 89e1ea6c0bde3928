"""Decide whether the conversation compacts by itself between turns, once its prompt cache is cold: the user's choice, which is kept in a
small file of our folder (a damaged one counts as empty), and what it would take now. Writes nothing but that choice."""

from __future__ import annotations

from ..hosts import is_kept
from ..io import files
from ..io.codec import dumps
from ..io.storage import LOGS, Storage
from ..io.system import join
from ..policy import auto_compaction, economics
from ..policy.auto_compaction import COLD_TARGET, Prospect
from ..policy.ruleset import COMPACT_TARGET
from ..state import shipped, sockets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..policy.conversation import Conversation
    from ..state.live import Site

FILE = "consents.json"
STORAGE = (Storage(LOGS, {"": r"consents\.json"}),)
ABOUT = "compact_when_cold"
ON, OFF, ASK = "on", "off", "ask"
_YES, _NO = "yes", "no"


def setting(site: Site) -> str:
    """Return ON, OFF or ASK: what the configuration says, and where that is to ask, what the user has answered."""
    configured = str(site.config.get(ABOUT, ASK))
    if site.config.get("compact", ON) != ON or not site.enabled or is_kept(site.session_id):
        return OFF
    if configured != ASK:
        return configured
    answer = files.read_object(join(site.lasting_home, FILE)).get(ABOUT)
    return ON if answer == _YES else OFF if answer == _NO else ASK


def choose(site: Site, on: bool) -> None:
    """Keep what the user says, for all sessions, in place of an earlier answer. OSError where it cannot be written."""
    files.make_private_folder(site.lasting_home)
    path = join(site.lasting_home, FILE)
    with files.Lock(path + ".lock"):
        files.replace_text(path, dumps({**files.read_object(path), ABOUT: _YES if on else _NO}))


def target(site: Site) -> float:
    """Return the share of the conversation that may stay: never less than where room is needed."""
    return max(COLD_TARGET, float(site.config.get("compact_target", COMPACT_TARGET)))


def prospect(site: Site, conversation: Conversation, now: float) -> Prospect | None:
    """Return what it would take now; None while the cache is warm, or nothing has been sent."""
    last = conversation.last
    if not last.tokens or last.is_warm(now):
        return None
    prices = economics.prices_of(conversation.rules.models.model(last.model), last.cache_ttl_s)
    return auto_compaction.prospect(conversation, now, shipped.need_model(), prices, warm=False, target=target(site))


def taken_when_asked(site: Site, conversation: Conversation, now: float) -> int:
    """Return the tokens that a compaction of ours takes now if a person asks for it; 0 where it does not pay, Claude Code would do it in
    our place, or it comes by itself."""
    if setting(site) == ON or site.config.get("compact", ON) != ON or not site.enabled or is_kept(site.session_id):
        return 0
    cold = prospect(site, conversation, now) if sockets.of_session(site.lasting_home, site.session_id) else None
    return cold.sum.leaves if cold is not None and cold.pays else 0


def worth_of(found: Prospect, conversation: Conversation) -> tuple[int, float | None]:
    """Return (tokens that leave, dollars that this is worth, thinking again subtracted; None where no price is known)."""
    model = conversation.rules.models.model(conversation.last.model)
    usd = model.usd(conversation.last.tokens)[0]
    return found.sum.leaves, None if usd is None else (found.units - found.cost) * usd / 1e6
