"""Read what the model got of a call from the structure that the host tells hooks of: a row for each tool. Pure.

The host shows some structures as another text. What no row reads is shown as it is: the texts of its blocks, or its JSON. Names and texts
are those of recorded sessions, in which both forms of a result stand side by side.
"""

from __future__ import annotations

from ...policy.estimate import image_tokens
from . import fates
from .blocks import dumps_or_nothing, text_and_images

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Response = dict[str, object]
    Form = Callable[[Response], "str | None"]

# What the context has of an output that the host has moved to a file: a notice and the first 2 kB.
PERSISTED_CHARS = 2_300


def shown(name: str, response: object) -> tuple[str, int]:
    """Return (text, image tokens) that the response of a tool puts into the context."""
    if isinstance(response, list):
        return text_and_images(response)
    if not isinstance(response, dict):
        return ("" if response is None else str(response)), 0
    if response.get("isImage") is True:
        return "", image_tokens(0, 0)
    if isinstance(response.get("persistedOutputPath"), str):
        return str(response.get("stdout") or "")[:PERSISTED_CHARS], 0
    form = _FORMS.get(name)
    if form is None:
        from . import response_forms  # not for what a shell or a search answers, which is most

        form = response_forms.FORMS.get(name)
    text = form(response) if form is not None else None
    if text is not None:
        return text, 0
    if isinstance(response.get("content"), list):
        return text_and_images(response["content"])
    return dumps_or_nothing(response), 0


def _printed(response: Response) -> str | None:
    """Return what a command printed, errors last."""
    out, err = response.get("stdout"), response.get("stderr")
    return out.strip("\n") + ("\n" + err if isinstance(err, str) and err.strip() else "") if isinstance(out, str) else None


def _found(response: Response) -> str | None:
    """Return the matches of a search, or the files that have some."""
    matches = response.get("content")
    if not isinstance(matches, str) or not matches:
        return _named(response)
    return matches if len(matches) <= fates.LONGEST_FOUND else matches[:PERSISTED_CHARS]


def _named(response: Response) -> str | None:
    names = response.get("filenames")
    return "\n".join([name for name in names if isinstance(name, str)]) if isinstance(names, list) else None


_FORMS: dict[str, Form] = {"Bash": _printed, "PowerShell": _printed, "Grep": _found, "Glob": _named, "LS": _named}
