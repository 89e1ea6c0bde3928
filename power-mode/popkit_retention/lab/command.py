"""`popkit lab`: the scores of policies over past sessions. Reads transcripts; writes only the file that --parquet names. Exit 0, or 1 when
there is nothing to show."""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import nullcontext

from popkit_retention.core import text
from popkit_retention.core.text import clean

from ..cli import terminal
from ..cli.answering import Refused
from ..cli.commands import version
from ..cli.terminal import Bar
from ..operations import many_sessions, session_lookup
from ..parallel.sources import SourceUnavailable
from . import parquet_rows, replay_policies, survey
from .arguments import TTLS, check_policies, check_writable
from .survey_card import card_of
from .survey_views import lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from popkit_retention.core.flag_parser import Words

    from ..parallel.results import Workplace


MISTAKES = (SourceUnavailable, session_lookup.NoSession)


def compare(args: Words, environ: Mapping[str, str]) -> int:
    """Compare the policies over past sessions. Refused for a policy, a model or a file that cannot be used."""
    gc.enable()  # a long run, unlike other commands
    check_policies(args.policy or ())
    if args.model and not replay_policies.has_price(args.model):
        raise Refused(f"{clean(args.model)}: the table of models has no price for it")
    if args.parquet:
        check_writable(args.parquet)
    paths, where = _sources_of(args, environ)
    with Bar(environ) as bar, _parquet(args.parquet) as table:
        result = survey.survey(paths, args.policy, _ttls(args), where.jobs, bar.show, args.model, where.scheduler, table)
    result["card"] = card_of(result, version())
    if args.json:
        print(json.dumps(result))
    else:
        terminal.write_view(lines_of(result), sys.stdout, environ)
    if not result["sessions"]:
        return 1
    if args.parquet:
        print(f"popkit lab: the table is {text.clean(os.path.abspath(args.parquet))}", file=sys.stderr)
    return 0


def _ttls(args: Words) -> list[int]:
    return list(TTLS.values()) if args.ttl == "both" else [TTLS[args.ttl]]


def _sources_of(args: Words, environ: Mapping[str, str]) -> tuple[list[str], Workplace]:
    """Return where the sessions are, and where to work on them. NoSession where the host has none."""
    paths, where = many_sessions.paths_of(args.arguments, args.flags), many_sessions.where_of(args.flags)
    many_sessions.need_packages(paths, args.flags, environ)
    return paths or session_lookup.places_of_host(environ, args.host), where


def _parquet(path: str | None) -> AbstractContextManager[parquet_rows.Parquet | None]:
    if not path:
        return nullcontext()
    return parquet_rows.Parquet(path)
