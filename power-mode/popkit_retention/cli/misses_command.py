"""`popkit misses`: which requests wrote to the prompt cache what the one before had left there, why, and what that cost."""

from __future__ import annotations

import time
from functools import partial

from hooks.utils import text
from hooks.utils.config import layers
from hooks.utils.io import home
from hooks.utils.io.sqlite_file import StoreError
from hooks.utils.policy.models import models_of

from ..bill import costs, digests
from ..lab import survey
from ..operations import sessions
from ..views import misses as views
from .answering import Answer, Refused
from .screen import Bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed

MISTAKES = (OSError, StoreError, sessions.NoSession)
_PERIOD_S = 30 * 86_400


def run(args: Parsed, environ: Mapping[str, str]) -> Answer:
    """Read what has changed since the last time, and sum it up."""
    now = time.time()
    bar = Bar(environ)
    try:
        paths = args.arguments or ([sessions.folder_of_host(environ, args.host)] if args.host != sessions.CLAUDE_CODE else [])
        if paths:
            found = list(digests.of_paths(named(paths), bar.show))
            period = "the sessions that you named" if args.arguments else "all sessions there"
        else:
            since = args.since.ago(now) if args.since else now - _PERIOD_S
            found = digests.of_user(environ, since, now, bar.show)
            period = "sessions since " + time.strftime("%Y-%m-%d", time.localtime(since))
    finally:
        bar.end()
    models = models_of(layers.load(home.plugin_root(), home.popkit_home(environ), None))
    sums = costs.misses(found, models)
    data = {**sums, "prices_of": models.dated}
    return Answer(views.lines_of(sums, period, models.dated), data)


def named(paths: list[str]) -> list[str]:
    """Return the transcripts in these files and folders; Refused for one that the user named and that is none."""
    return [path for _, path in survey.find(paths, partial(_skip, paths))]


def _skip(named: list[str], path: str, reason: str) -> None:
    """Leave out what is no transcript in a folder; Refused for what the user named."""
    if path in named:
        raise Refused(f"{text.clean(path)}: {reason}")
