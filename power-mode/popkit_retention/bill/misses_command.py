"""`popkit bill misses`: the requests that wrote again what the previous one had left in the prompt cache."""

from __future__ import annotations

import time

from popkit_retention.core.io import home

from ..cli.answering import Answer
from ..operations import many_sessions
from . import costs, miss_views
from .chosen_digests import covered, digests_since, models_of_user, named_digests, names_sessions
from .paid import MONTH_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


def misses(args: Words, environ: Mapping[str, str]) -> Answer:
    """Return the losses of the caches of this user's sessions, or of those that the user named."""
    now, left_out = time.time(), many_sessions.Omissions()
    if names_sessions(args):
        used, left_out = named_digests(args, environ)
        period = covered(args)
    else:
        since = args.since.ago(now) if args.since else now - MONTH_S
        used = digests_since(since, args, environ, now)
        period = "sessions since " + time.strftime("%Y-%m-%d", time.localtime(since))
    models = models_of_user(home.popkit_home(environ))
    lost = costs.misses(used, models)
    data = {**lost, "prices_of": models.dated, "left_out": left_out.to_json()}
    return Answer(miss_views.misses(lost, period, models.dated) + left_out.lines(), data)
