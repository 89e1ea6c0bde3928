"""`AsyncGovernance`, whose methods are those of the controller, awaited."""

from __future__ import annotations

import os
from typing import Any

from ..awaiting import awaited
from .controller import Controller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class AsyncGovernance:
    """A `Controller` for asyncio. Every call opens a controller of its own in a thread, so tasks may share this object. `options` go to
    `Controller`."""

    def __init__(self, environ: Mapping[str, str] | None = None, **options: Any) -> None:
        self._environ = os.environ if environ is None else environ
        self._options = options

    def _call(self, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with Controller(self._environ, **self._options) as controller:
            return method(controller, *args, **kwargs)

    configure = awaited(Controller.configure)
    accept = awaited(Controller.accept)
    decline = awaited(Controller.decline)
    unset = awaited(Controller.unset)
    requests = awaited(Controller.requests)
    get = awaited(Controller.get)
    policies = awaited(Controller.policies)
    history = awaited(Controller.history)
    rollback = awaited(Controller.rollback)
    apply = awaited(Controller.apply)
    status = awaited(Controller.status)
    by_domain = awaited(Controller.by_domain)
    describe = awaited(Controller.describe)
    explain = awaited(Controller.explain)
    log = awaited(Controller.log)
    verify = awaited(Controller.verify)
    add_hold = awaited(Controller.add_hold)
    holds = awaited(Controller.holds)
    release_hold = awaited(Controller.release_hold)
    gc = awaited(Controller.gc)
    undo = awaited(Controller.undo)
    archive = awaited(Controller.archive)
    archives = awaited(Controller.archives)
    restore = awaited(Controller.restore)
    remove = awaited(Controller.remove)
