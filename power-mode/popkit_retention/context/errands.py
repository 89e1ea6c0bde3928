"""What commands let an interpreter do that has the extra: `python errands.py`, with what it is as JSON in its one argument. The answer is
JSON: {"error": what is wrong and what to do} where it could not be done."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def main(words: list[str], environ: Mapping[str, str] = os.environ) -> int:
    """Does it; the exit code."""
    from popkit_retention.context.database.opening import DatabaseUnavailable

    asked = json.loads(words[0])
    try:
        answer = _ERRANDS[asked.pop("do")](environ, **asked)
    except (DatabaseUnavailable, OSError) as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)
    return 1 if "error" in answer else 0


def _report(environ: Mapping[str, str], session: str, user: str) -> dict[str, Any]:
    from popkit_retention.context.report import report

    return report(environ, session, user)


def _look(environ: Mapping[str, str]) -> dict[str, Any]:
    from popkit_retention.context.report import look

    return look(environ)


def _send(environ: Mapping[str, str]) -> dict[str, Any]:
    from popkit_retention.context.sending import send

    return send(environ)


_ERRANDS: dict[str, Callable[..., dict[str, Any]]] = {"report": _report, "look": _look, "send": _send}

if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:1] = [os.path.dirname(os.path.dirname(here)), os.path.dirname(os.path.dirname(os.path.dirname(here)))]
    sys.exit(main(sys.argv[1:]))
