"""The instance file in our folder, which has the address of the running dashboard: a second start shows that dashboard instead of
serving another."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from popkit_retention.core.io import files, home
from popkit_retention.core.io.codec import dumps
from popkit_retention.core.io.storage import LOGS, Storage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME, BROWSER_FILE = "dashboard.json", "dashboard.html"
STORAGE = (Storage(LOGS, {"": r"dashboard\.(json|html)"}),)
_REDIRECT = '<!doctype html><meta charset="utf-8"><title>PopKit</title><meta http-equiv="refresh" content="0;url={}">\n'


class Instance:
    """The instance file of one user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folder = home.popkit_home(environ)
        self._path = os.path.join(self._folder, NAME)

    def other(self) -> str:
        """Return the address of the running dashboard; "" for none."""
        recorded = files.read_object(self._path, 4_096)
        address, pid = recorded.get("address"), recorded.get("pid")
        if not isinstance(address, str) or type(pid) is not int or pid == os.getpid():
            return ""
        return address if _is_running(pid) and _answers(address) else ""

    def record(self, address: str) -> None:
        """Record the address that this process serves."""
        files.make_private_folder(self._folder)
        files.replace_text(self._path, dumps({"address": address, "pid": os.getpid()}))

    def browser_file(self, address: str) -> str:
        """Return the address of a file that redirects a browser to this address, and that nobody else can read."""
        path = os.path.join(self._folder, BROWSER_FILE)
        files.replace_text(path, _REDIRECT.format(address))
        return Path(path).as_uri()

    def release(self) -> None:
        """Delete the files of this process."""
        if files.read_object(self._path, 4_096).get("pid") == os.getpid():
            for name in (NAME, BROWSER_FILE):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(self._folder, name))


def _is_running(pid: int) -> bool:
    """Return whether a process of this user has this number. Where there is none, another program may have its port, and must get neither
    our token nor a browser."""
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True


def _answers(address: str) -> bool:
    """Return whether our server answers at an address with the token in it: another program may have the port by now. A server that does
    not answer in time counts, because it has just started, or is busy."""
    import http.client
    import socket
    from urllib.parse import parse_qs, urlsplit

    parts = urlsplit(address)
    token = parse_qs(parts.query).get("token", [""])[0]
    if parts.hostname != "127.0.0.1" or not parts.port:
        return False
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=2)
    try:
        connection.request("GET", "/api/me", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status == 200
    except socket.timeout:  # TimeoutError is another error in Python 3.9
        return True
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
