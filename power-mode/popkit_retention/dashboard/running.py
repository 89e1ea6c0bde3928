"""Whether a dashboard runs for this home already: its address is noted in our folder, in a file that is ours alone, for as long as it
runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hooks.utils.edges import files, home
from hooks.utils.edges.codec import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "dashboard.json"


class Running:
    """The note of one home."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folder = home.popkit_home(environ)
        self._path = os.path.join(self._folder, NAME)

    def other(self) -> str:
        """The address of the dashboard that runs; "" for none."""
        told = self._told()
        address, pid = told.get("address"), told.get("pid")
        if not isinstance(address, str) or not isinstance(pid, int) or pid == os.getpid() or not _answers(address):
            return ""
        return address

    def note(self, address: str) -> None:
        """This process serves there."""
        files.make_private_folder(self._folder)
        files.replace_text(self._path, dumps({"address": address, "pid": os.getpid()}))

    def over(self) -> None:
        """It does no more."""
        if self._told().get("pid") == os.getpid():
            try:
                os.unlink(self._path)
            except FileNotFoundError:
                return

    def _told(self) -> dict:
        try:
            told = loads(files.read_text(self._path, 4_096) or "{}")
        except (OSError, ValueError):
            return {}
        return told if isinstance(told, dict) else {}


def _answers(address: str) -> bool:
    """Whether our server answers at an address with the token in it: another one may have the port by now."""
    import http.client
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(address)
    token = parse_qs(parts.query).get("token", [""])[0]
    if parts.hostname != "127.0.0.1" or not parts.port:
        return False
    asked = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=2)
    try:
        asked.request("GET", "/api/me", headers={"Authorization": f"Bearer {token}"})
        return asked.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
