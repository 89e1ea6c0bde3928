"""Declare the feature lab: `popkit try` and `popkit lab`."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature(
    "lab",
    70,
    commands=(
        Command("try", f"{__package__}.operations:TRY", 50, first=(80, "what PopKit would have done in your sessions"), needs=("bill",)),
        Command(
            "lab",
            f"{__package__}.operations:LAB",
            60,
            renamed={"replay": ("lab replay", {"--decisions": "--out"})},  # `popkit replay`, whose --decisions is --out
        ),
    ),
)
