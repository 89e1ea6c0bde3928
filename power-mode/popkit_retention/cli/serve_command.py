"""`popkit serve`: run the resident helper of a session, which the mod inside the client starts."""

from __future__ import annotations

import gc

from .commands import version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


def run(args: Words, environ: Mapping[str, str]) -> int:
    """Run the resident helper of one session, which the mod inside the client starts. Where PopKit is switched off, it says so and ends."""
    if environ.get("POPKIT_OFF"):
        print('{"off": true}')
        return 0
    if args.draw:
        from popkit_retention.core.helper import drawing

        drawing.draw_once(environ, args.session, args.transcript, args.cwd)
        return 0
    from popkit_retention.core import helper

    if args.join:
        helper.join(environ, args.session)
        return 0
    gc.enable()  # a command that ends at once does not need it
    helper.serve(environ, args.session, args.transcript, args.cwd, version())
    return 0
