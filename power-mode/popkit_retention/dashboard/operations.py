"""The operation of `popkit dashboard`."""

from __future__ import annotations

from popkit_retention.core.argument_types import whole
from popkit_retention.core.operation_tables import Flag, Operation, Table

DASHBOARD = Table(
    "popkit dashboard",
    "one page that shows everything live, on this machine",
    Operation(
        "",
        "",
        Flag("--port N", "serve on this port (default: 7457, or a free one; 0: a free one)", whole(0, 65_535)),
        Flag("--ipv6", "also serve on ::1"),
        Flag("--no-open", "only print the address, open no browser"),
        Flag("--json", "print the address as JSON"),
        more="Sessions, memory, retention, budgets: served to this machine only, at an address with a token that is new each time."
        " Press Ctrl-C to stop it. popkit setup dashboard installs what it needs, once.",
        does="run",
    ),
    module=f"{__package__}.command",
)
