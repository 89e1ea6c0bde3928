"""What `popkit doctor` says of keeping the prompt cache warm, where that is configured for all sessions. Changes nothing."""

from __future__ import annotations

from hooks.utils.config import layers
from hooks.utils.edges import home
from hooks.utils.operations import cache
from hooks.utils.policy import warming
from hooks.utils.state.site import Site
from hooks.utils.state.warmth import ON
from hooks.utils.views import cache as views

from .check import OK, WARNING, Check
from .doctor_helper import newest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "keep warm"


def keep_warm(popkit_home: str, project: str, environ: Mapping[str, str], now: float) -> list[Check]:
    """Nothing where it is not configured. `now`: seconds."""
    if layers.load(home.plugin_root(), popkit_home, project).get("keep_warm") != ON:
        return []
    site = Site(environ, newest(popkit_home, project, environ), project)
    if not site.session_id:
        return [Check(NAME, OK, "on; no session of this project is known yet", ended="")]
    found = cache.kept_warm(site, str(site.session.get("transcript") or ""), now)
    said = f"{views.pane_line(found).removeprefix('Kept warm: ')} (session {site.session_id[:8]})"
    if found["on"] and found["ended"] in (warming.HOUR, warming.UNPRICED):
        advice = "Set keep_warm to off, or promptCacheTtl to 5 minutes in the settings of Claude Code."
        if found["ended"] == warming.UNPRICED:
            advice = "Add the prices of this model to `models` in your configuration."
        return [Check(NAME, WARNING, said, advice, ended=found["ended"])]
    return [Check(NAME, OK, said, ended=found["ended"])]
