"""`popkit misses`: which requests wrote to the prompt cache what the one before had left there, why, and what that cost."""

from __future__ import annotations

import time

from hooks.utils.config import layers
from hooks.utils.io import home
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.policy.models import models_of

from ..bill import costs, digests
from ..operations import sessions
from ..parallel.sources import Unavailable
from ..views import misses as views
from . import many_sessions
from .answering import Answer
from .bill_command import covered, digests_of
from .screen import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed

MISTAKES = (OSError, StoreError, Unavailable, sessions.NoSession)
_PERIOD_S = 30 * 86_400


def run(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Read what has changed since the last time, and sum it up."""
    now = time.time()
    where, left_out = many_sessions.where_of(args.flags), many_sessions.LeftOut()
    if args.arguments or "list" in args.flags or args.host != sessions.CLAUDE_CODE:
        found, left_out = digests_of(args, environ, where)
        period = covered(args)
    else:
        many_sessions.equip((), args.flags, environ)
        since = args.since.ago(now) if args.since else now - _PERIOD_S
        bar = Bar(environ)
        try:
            found = digests.of_user(environ, since, now, bar.show, where)
        finally:
            bar.end()
        period = "sessions since " + time.strftime("%Y-%m-%d", time.localtime(since))
    models = models_of(layers.load(home.plugin_root(), home.popkit_home(environ), None))
    sums = costs.misses(found, models)
    data = {**sums, "prices_of": models.dated, "left_out": left_out.to_json()}
    return Answer(views.lines_of(sums, period, models.dated) + left_out.lines(), data)
