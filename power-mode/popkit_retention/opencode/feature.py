"""Declare the feature opencode: `popkit setup opencode`, its checks, its removal."""

from __future__ import annotations

from ..features import Feature, SetUp

FEATURE = Feature(
    "opencode",
    60,
    stores=(f"{__package__}.configuration",),
    setups=(
        SetUp(
            "opencode",
            "PopKit in OpenCode",
            "PopKit in OpenCode: its plugin in opencode.json and tui.json",
            "adds PopKit's plugin to opencode.json and tui.json. It shows the change and asks first.",
            f"{__package__}.setup:set_up_opencode",
            f"{__package__}.configuration:named_plugin",
        ),
    ),
    offers={"checks": f"{__package__}.checks:opencode_checks", "removes": f"{__package__}.setup:remove"},
)
