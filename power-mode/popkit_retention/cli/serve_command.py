"""`popkit serve`: the resident helper of one session, started by the mod inside the client. Nobody types it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from hooks.utils.flag_parser import Parsed


def run(args: Parsed, environ: Mapping[str, str]) -> int:
    """Serve until the client has gone. Where PopKit is switched off it says so and ends."""
    import gc

    if environ.get("POPKIT_OFF"):
        print('{"off": true}')
        return 0
    from hooks.utils.helper.server import join, serve

    if args.join:
        join(environ, args.session)
        return 0
    from .main import version

    gc.enable()  # commands do without, this one stays
    serve(environ, args.session, args.transcript, args.cwd, version())
    return 0
