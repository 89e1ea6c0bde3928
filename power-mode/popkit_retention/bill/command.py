"""`popkit bill`: the cost of what each prompt of a project contains before the first word."""

from __future__ import annotations

import time

from popkit_retention.core.io import home
from popkit_retention.core.io.sqlite_file import StoreError
from popkit_retention.core.state import limit_readings
from popkit_retention.core.views import bill as views
from popkit_retention.core.views import cache_lifetime, paid_for

from ..cli.answering import Answer
from ..operations import session_lookup
from ..parallel.sources import SourceUnavailable
from . import paid, statement
from .chosen_digests import covered, models_of_user, named_digests, names_sessions
from .project_bill import ProjectBill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.policy.models import Models


MISTAKES = (OSError, StoreError, SourceUnavailable, session_lookup.NoSession)


def whole(args: Words, environ: Mapping[str, str]) -> Answer:
    """Return the bill of this project, or of the sessions that the user named."""
    if names_sessions(args):
        return _bill_of_sessions(args, environ, models_of_user(home.popkit_home(environ)))
    subject = ProjectBill(args, environ, args.since.ago(time.time()) if args.since else None)
    return Answer(views.lines_of(subject.bill, subject.now, args.details, _most(args)), subject.bill)


def _bill_of_sessions(args: Words, environ: Mapping[str, str], models: Models) -> Answer:
    """Return the bill of the sessions that the user named, in which only the size of everything before the first word is known."""
    used, left_out = named_digests(args, environ)
    whole = paid.whole(used, models)
    began = [digest["standing"] for digest in used if statement.is_main(digest)]
    lifetime = statement.cache_lifetime(used, models, not limit_readings.readings(home.popkit_home(environ)), float("inf"))
    lines = (
        paid_for.whole_lines(whole, covered(args), models.dated, began, _most(args))
        + cache_lifetime.lifetime_lines(lifetime)
        + left_out.lines()
    )
    return Answer(
        lines,
        {"whole": whole, "cache_lifetime": lifetime, "first_prompt": began, "prices_of": models.dated, "left_out": left_out.to_json()},
    )


def _most(args: Words) -> int:
    return 0 if args.details else paid_for.MOST_KINDS
