"""The operation of `popkit setup`, whose arguments come from the extras and the features."""

from __future__ import annotations

from popkit_retention.core.argument_types import choice
from popkit_retention.core.operation_tables import CHANGES, Flag, Operation, Table
from popkit_retention.core.text import enumerated

from .. import features
from ..extras import EXTRAS
from ..operations import JSON

SHELL = "shell"  # the command as it is named in `popkit setup shell`
_SETUPS = features.setups()
_CONFIGURED = [setup.name for setup in _SETUPS]
_ASKING = f"for {enumerated([*_CONFIGURED, SHELL])}"
_TITLES = ["install what some commands need beyond Python", "make your shell find popkit", *(setup.title for setup in _SETUPS)]
SETUP = Table(
    "popkit setup",
    f"{', '.join(_TITLES[:-1])}, or {_TITLES[-1]}",
    Operation(
        "[NAME]",
        "",
        Flag("--undo", f"{_ASKING}: take back what it changed"),
        Flag("--yes", f"{_ASKING}: make the change without asking"),
        *([Flag("--scope user|project", f"for {enumerated(_CONFIGURED)}: whose settings to change", default="user")] if _SETUPS else []),
        effect=CHANGES,
        type=choice(*EXTRAS, *(setup.name for setup in _SETUPS), SHELL),
        more="\n\n".join(
            [
                "Without NAME, it lists what can be set up. Packages go into a virtual environment in PopKit's folder.",
                *(f"`popkit setup {setup.name}` {setup.more}" for setup in _SETUPS),
                f"`popkit setup {SHELL}` links popkit into a folder on your PATH, and asks first. It goes on working after an upgrade.",
            ]
        ),
        does="run",
    ),
    common=(JSON,),
    module=f"{__package__}.setup_command",
)
