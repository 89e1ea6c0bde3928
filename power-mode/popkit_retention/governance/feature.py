"""Declare the feature governance: `popkit retention`, its stores, view, tools and offers."""

from __future__ import annotations

from ..features import Command, Feature

FEATURE = Feature(
    "governance",
    20,
    needs=("memory",),
    commands=(Command("retention", f"{__package__}.operations:RETENTION", 40, run=f"{__package__}.command:run"),),
    stores=(f"{__package__}.health", f"{__package__}.manifests"),
    tile=f"{__package__}.tile:RetentionTile",
    tools=f"{__package__}.tools",
    offers={
        "copies": f"{__package__}.obligations:copies",
        "job": f"{__package__}.hourly_job:collect",
        "logged": f"{__package__}.obligations:logged",
        "warns": f"{__package__}.obligations:warns",
    },
)
