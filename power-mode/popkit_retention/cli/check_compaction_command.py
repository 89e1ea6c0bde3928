"""`popkit check-compaction`: what the compactions of a session have lost, whoever made them. Reads only. Exit 1 when something that the
user named does not exist."""

from __future__ import annotations

import os

from popkit_retention.core.operations import compaction_losses
from popkit_retention.core.operations.compaction_losses import NoPassage
from popkit_retention.core.state.site import Site
from popkit_retention.core.views import losses

from ..operations import session_lookup
from .answering import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


MISTAKES = (session_lookup.NoSession, NoPassage, OSError)


def check(args: Words, environ: Mapping[str, str]) -> Answer:
    """List what the newest compaction lost, or print the text that a row leads to. NoSession for what is no session, NoPassage for a line
    without a text."""
    path = (
        session_lookup.named(environ, args.argument)
        if args.argument
        else session_lookup.current(environ, os.getcwd(), "popkit check-compaction TRANSCRIPT")
    )
    began = session_lookup.check(path)
    if args.show:
        shown = compaction_losses.text_at(path, args.show)
        return Answer([], {"transcript": path, "line": args.show, "text": shown}, content=shown)
    site = Site(environ, session_lookup.session_id_of(path), began)
    found = compaction_losses.of_transcript(path, site.home, args.lines)
    lines = losses.lines(found, bool(args.all), losses.hints(found[0]) if found else [])
    return Answer(lines, {"transcript": path, "compactions": found})
