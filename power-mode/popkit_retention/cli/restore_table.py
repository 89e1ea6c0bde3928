"""The operations of `popkit restore`: one on a session, the others on the archive."""

from __future__ import annotations

from popkit_retention.core.operation_tables import Operation, Table
from popkit_retention.core.operations import CONTEXT

from ..operations.archive_table import ARCHIVE

_RESTORE = CONTEXT.by_name["restore"]
RESTORE = Table(
    "popkit restore",
    "print what left the context, or put it back; list, search or delete what the archive holds",
    Operation(_RESTORE.label, _RESTORE.help, *_RESTORE.flags, *CONTEXT.common, effect=_RESTORE.effect),
    *ARCHIVE,
    notes=CONTEXT.notes,
    module=f"{__package__}.archive_command",
)
