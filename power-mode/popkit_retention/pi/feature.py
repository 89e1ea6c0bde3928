"""Declare the feature pi: `popkit setup pi`, its checks, its removal."""

from __future__ import annotations

from ..features import Feature, SetUp

FEATURE = Feature(
    "pi",
    61,
    stores=(f"{__package__}.configuration",),
    setups=(
        SetUp(
            "pi",
            "PopKit in pi",
            "PopKit in pi: its extension in settings.json",
            "adds PopKit's extension to settings.json. It shows the change and asks first.",
            f"{__package__}.setup:set_up_pi",
            f"{__package__}.configuration:named_extension",
        ),
    ),
    offers={"checks": f"{__package__}.checks:pi_checks", "removes": f"{__package__}.setup:remove"},
)
