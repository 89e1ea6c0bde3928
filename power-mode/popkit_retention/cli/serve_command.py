"""`popkit serve`: the resident helper of one session, started by the mod inside the client. Nobody types it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    parser = subparsers.add_parser("serve", help="answer the code inside the client (started by it)")
    parser.add_argument("--session", required=True, help="the session's id")
    parser.add_argument("--transcript", default="", help="its transcript")
    parser.add_argument("--cwd", default="", help="the folder of its project")


def run(args: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Serves until the client has gone. Where PopKit is switched off it says so and ends."""
    import gc

    if environ.get("POPKIT_OFF"):
        print('{"off": true}')
        return 0
    from hooks.utils.helper.server import serve

    from .main import version

    gc.enable()  # commands do without, this one stays
    serve(environ, args.session, args.transcript, args.cwd, version())
    return 0
