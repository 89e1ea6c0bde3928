"""The digests of the sessions that an operation is about: those that the user named, else this user's own."""

from __future__ import annotations

from popkit_retention.core.config import layers
from popkit_retention.core.io import home
from popkit_retention.core.policy.models import models_of

from ..cli.terminal import Bar
from ..operations import many_sessions, session_lookup
from . import digests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words
    from popkit_retention.core.policy.models import Models

    from .records import Digest


def models_of_user(popkit_home: str) -> Models:
    return models_of(layers.load(home.plugin_root(), popkit_home, None))


def names_sessions(args: Words) -> bool:
    """Return whether the words name other sessions than this user's own in Claude Code."""
    return bool(args.arguments) or "list" in args.flags or args.host != session_lookup.CLAUDE_CODE


def covered(args: Words) -> str:
    """Return which sessions are covered, in words."""
    return "the sessions that you named" if args.arguments or "list" in args.flags else f"all sessions of {session_lookup.HOSTS[args.host]}"


def named_digests(args: Words, environ: Mapping[str, str]) -> tuple[list[Digest], many_sessions.Omissions]:
    """Return the digests of the transcripts that the user named, and the transcripts that were left out."""
    left_out, where = many_sessions.Omissions(), many_sessions.where_of(args.flags)
    paths = many_sessions.paths_of(args.arguments, args.flags) or session_lookup.places_of_host(environ, args.host)
    many_sessions.need_packages(paths, args.flags, environ)
    with Bar(environ) as bar:
        return list(digests.of_sources(many_sessions.sources_of(paths, left_out), bar.show, left_out.add, where)), left_out


def digests_since(since: float, args: Words, environ: Mapping[str, str], now: float) -> list[Digest]:
    """Return the digests of this user's sessions that were active since a time (seconds)."""
    where = many_sessions.where_of(args.flags)
    many_sessions.need_packages((), args.flags, environ)
    with Bar(environ) as bar:
        return digests.of_user(environ, since, now, bar.show, where)
