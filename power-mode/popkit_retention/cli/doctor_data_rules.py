"""The check of `popkit doctor` on data rules."""

from __future__ import annotations

from popkit_retention.core.config import layers
from popkit_retention.core.io import files, home, volatile
from popkit_retention.core.io.findings import OK, WARNING, Check
from popkit_retention.core.state import data_rules, stored_contexts
from popkit_retention.core.state.site import Site
from popkit_retention.core.text import clean, listed
from popkit_retention.core.units import counted

from .doctor_helper import SESSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


_NO_PLACE = "nothing of any session is kept, as this system offers no folder in memory"
_FROM_BEFORE = " What was stored of it before the rule came up is still on disk: `popkit restore prune` deletes its contents."
_IF_NONE = 'If none applies, say so in your own configuration: "data_rules": [].'


def rules_on_data(popkit_home: str, project: str, environ: Mapping[str, str]) -> list[Check]:
    """Check which data rules keep PopKit from writing anything to disk: those that are configured, and those of sessions; [] for none."""
    configured = layers.load(home.plugin_root(), popkit_home, project).get("data_rules")
    of_sessions = {name: data_rules.held({}, popkit_home, name, []) for name in stored_contexts.folders(popkit_home)}
    sessions = sorted(name for name, rules in of_sessions.items() if rules)
    here = environ.get(SESSION, "")
    site = Site(environ, here, project)
    current = site.data_rules if here else ()
    checks = []
    if configured:
        kept = "what is kept of a session is held in memory and gone at its end" if volatile.is_possible() else _NO_PLACE
        summary = f"{kept}: the configuration names " + listed([clean(str(rule)) for rule in configured], 3)
        checks.append(Check("data rules", OK, summary, rules=configured))
    elif current:
        summary = data_rules.in_words(current, site.is_in_memory) + (_FROM_BEFORE if _has_more(popkit_home, here) else "")
        checks.append(Check("data rules", OK, clean(summary), rules=list(current)))
        if data_rules.UNKNOWN in current:
            checks[-1] = Check("data rules", WARNING, checks[-1].text, _IF_NONE, rules=list(current))
    if sessions:
        summary = f"{counted(len(sessions), 'session')} under a data rule, of which nothing is kept on disk"
        checks.append(Check("data rules", OK, summary, sessions=sessions))
    return checks


def _has_more(popkit_home: str, session_id: str) -> bool:
    """Return whether the folder of a session holds more than its rules."""
    return any(name != data_rules.NAME for name in files.names(home.session_folder(popkit_home, session_id)))
