"""The files of the page: those of its own folder, with a module for each tile that has a view.

The table of these modules is made when the server starts, and no request adds to it. The HTML names them, so a browser fetches them
together with the page's own modules, and the page knows its views before it has asked anything."""

from __future__ import annotations

import hashlib
import html
import os
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse
from starlette.staticfiles import NotModifiedResponse, StaticFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from starlette.responses import Response

    from .security import Scope
    from .tile import Tile

_PLACE = "<!-- tiles -->"  # in the HTML, where their modules are named
_LINK = '<link rel="modulepreload" href="{address}" data-view="{view}" data-title="{title}" />'


class PageFiles(StaticFiles):
    """The files below `folder`, with the modules of these tiles."""

    def __init__(self, folder: str, tiles: Iterable[Tile]) -> None:
        super().__init__(directory=folder, html=True)
        shown = {f"tiles/{tile.view}.js": tile for tile in tiles if tile.view}
        self._modules = {os.path.normpath(address): tile.module() for address, tile in shown.items()}
        self._html = os.path.realpath(os.path.join(folder, "index.html"))
        self._links = "\n    ".join(
            _LINK.format(address=address, view=html.escape(tile.view), title=html.escape(tile.title)) for address, tile in shown.items()
        )

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return the file at an address, which is the module of a tile or lies in the folder; ("", None) for any other address."""
        module = self._modules.get(path)
        if module is None:
            return super().lookup_path(path)
        try:
            return module, os.stat(module)
        except OSError:
            return "", None

    def file_response(self, full_path: Any, stat_result: os.stat_result, scope: Scope, status_code: int = 200) -> Response:
        """Return a file; in the HTML, the modules of tiles stand in their place."""
        if full_path != self._html:
            return super().file_response(full_path, stat_result, scope, status_code)
        text = Path(full_path).read_text(encoding="utf-8").replace(_PLACE, self._links)
        etag = hashlib.sha256(text.encode()).hexdigest()[:32]
        response = HTMLResponse(text, status_code, {"etag": f'"{etag}"'})
        is_known = self.is_not_modified(response.headers, Headers(scope=scope))
        return NotModifiedResponse(response.headers) if is_known else response
