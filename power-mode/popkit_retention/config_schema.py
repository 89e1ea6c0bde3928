"""The schema of record of the configuration: what a document may hold, and the JSON Schema that editors use.

`python -m popkit_retention.config_schema > docs/retention-config.schema.json` writes the schema. Needs pydantic; hooks and
`popkit config check` have their own table (`hooks/utils/config/fields.py`), which a differential test holds to this.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, model_validator
from pydantic.json_schema import models_json_schema

TierName = Literal["ephemeral", "short", "medium", "session", "preserved"]
Event = Literal["edit", "edit_file", "commit", "supersede", "session_end", "manual"]
Pattern = Annotated[str, Field(min_length=1, max_length=256)]
Prose = Annotated[str, Field(max_length=2000)]
Share = Annotated[float, Field(ge=0.01, le=1)]
Calls = Annotated[int, Field(ge=1, le=1_000_000)]
Grace = Annotated[int, Field(ge=0, le=1_000_000)]
Seconds = Annotated[int, Field(ge=1, le=31_536_000)]

THRESHOLD_NAMES = ("notice", "warning", "critical", "emergency")


class _Strict(BaseModel):
    # Strict, because the hooks' reader converts nothing: "5" is a mistake in both.
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Tier(_Strict):
    """How results of one tier end. A field that is left out keeps the value of the layer below."""

    ttl_tools: Optional[Calls] = Field(
        None, description="Tool calls of the same context after which a result expires; null: their number ends nothing."
    )
    ttl_seconds: Optional[Seconds] = Field(None, description="Seconds after which a result expires; null: time ends nothing.")
    expiry_events: list[Event] = Field(
        default=[],
        max_length=200,
        description="Events that expire a result: edit (also spelt edit_file), commit, supersede, session_end, manual.",
    )
    description: Prose = Field("", description="What the tier is for; shown to people, read by nothing.")


class PreservedTier(_Strict):
    """The preserved tier never expires by age or event: only a person clears what it holds."""

    ttl_tools: None = Field(None, description="Only null.")
    ttl_seconds: None = Field(None, description="Only null.")
    expiry_events: list[Literal["manual"]] = Field(default=[], max_length=200, description="Only manual.")
    description: Prose = Field("", description="What the tier is for; shown to people, read by nothing.")


class Tiers(_Strict):
    """The five tiers, from the shortest life to the longest."""

    ephemeral: Tier = Field(default_factory=Tier, description="Acknowledgments: edits, mkdir.")
    short: Tier = Field(default_factory=Tier, description="Searches.")
    medium: Tier = Field(default_factory=Tier, description="File contents.")
    session: Tier = Field(default_factory=Tier, description="Tests, builds, and whatever is not known better.")
    preserved: PreservedTier = Field(default_factory=PreservedTier, description="Errors, decisions, preserved patterns.")


class ToolOverride(_Strict):
    """The tier of one tool's results."""

    tier: TierName = Field("session", description="The tier of calls that no pattern matches.")
    default: TierName = Field("session", description="Another spelling of tier; only one of the two may stand.")
    patterns: dict[Pattern, Optional[TierName]] = Field(
        default={},
        max_length=200,
        description="Globs on the path, for Bash the first words of the command or a glob on all of it, each with a tier. "
        "The first that matches wins; null removes a pattern of a layer below.",
    )

    @model_validator(mode="after")
    def _one_spelling(self) -> ToolOverride:
        if {"tier", "default"} <= self.model_fields_set:
            raise ValueError('"tier" and "default" both name the tier of the tool')
        return self


class Thresholds(_Strict):
    """Shares of the context window at which PopKit speaks up; each lies above the one before."""

    notice: Share = Field(0.60, description="The first notice.")
    warning: Share = Field(0.80, description="A warning with what could be cleared.")
    critical: Share = Field(0.90, description="The critical level.")
    emergency: Share = Field(0.95, description="The last level before the window is full.")

    @model_validator(mode="after")
    def _rising(self) -> Thresholds:
        levels = [getattr(self, name) for name in THRESHOLD_NAMES if name in self.model_fields_set]
        if any(low >= high for low, high in zip(levels, levels[1:])):
            raise ValueError("notice < warning < critical < emergency")
        return self


class GraceCalls(_Strict):
    """Calls for which an expired result must have been left alone before a clear takes it unasked, by kind."""

    read: Grace = Field(20, description="File contents: what was just edited is often needed again.")
    search: Grace = Field(5, description="Searches.")
    run: Grace = Field(1, description="Tests, builds and other runs.")
    ack: Grace = Field(0, description="Acknowledgments: edits, mkdir.")
    other: Grace = Field(5, description="Everything else.")


class Compaction(_Strict):
    """What PopKit adds when the conversation is compacted. A project file can only switch it off."""

    advise: bool = Field(True, description="Whether the summariser is told what is dead and what must survive.")
    index: bool = Field(True, description="Whether an index of what can be restored is given back afterwards.")


class KeepDays(_Strict):
    """How long PopKit keeps what it stores beside the archive."""

    originals: Annotated[int, Field(ge=0, le=36_500)] = Field(
        14, description="Days for which a transcript is kept as it was before its last change, while the transcript is there."
    )
    sessions: Annotated[int, Field(ge=1, le=36_500)] = Field(
        90, description="Days without a change after which what is stored of a session goes; its contents stay in the archive."
    )


class _Notes(_Strict):
    schema_: Prose = Field("", alias="$schema", description="Where an editor finds this schema; no setting.")
    comment_: Prose = Field("", alias="$comment", description="A note for readers; no setting.")


class Retention(_Notes):
    """The settings of tiered retention. Everything may be left out: the layer below then counts."""

    enabled: bool = Field(True, description="Whether results are tracked at all. A project file can only switch this off.")
    profile: Literal["auto", "spec", "aggressive", "conservative", "default"] = Field(
        "auto",
        description="auto (also called default): a clear takes what is worth more gone than kept. spec: what has expired and is past its "
        "grace; aggressive: the same with lifetimes halved (at least 1), conservative: doubled.",
    )
    tiers: Tiers = Field(default_factory=Tiers, description="Lifetimes and events of each tier.")
    tool_overrides: dict[Pattern, Union[TierName, ToolOverride, None]] = Field(
        default={},
        max_length=200,
        description="Tiers by tool name, which may hold wildcards (mcp__github__*): a tier, an object, or null for no override.",
    )
    preserved_patterns: list[Pattern] = Field(
        default=["error", "fail", "decision", "STATUS.json"],
        max_length=200,
        description="error and fail preserve failed calls, decision preserves answers of the user; every other entry is a "
        "glob on paths and command lines whose results are preserved.",
    )
    thresholds: Thresholds = Field(default_factory=Thresholds, description="Shares of the window at which PopKit speaks up.")
    window_tokens: Optional[Annotated[int, Field(ge=1000, le=100_000_000)]] = Field(
        None, description="The context window in tokens; null: the window of the model in use."
    )
    pins: list[Pattern] = Field(default=[], max_length=200, description="Globs on paths whose results never expire.")
    grace_calls: GraceCalls = Field(
        default_factory=GraceCalls,
        description="Calls for which an expired result is left in the context, by kind of result; auto weighs instead.",
    )
    restore_hold_calls: Grace = Field(20, description="Calls for which a restored result is held as if it were pinned.")
    compaction: Compaction = Field(default_factory=Compaction, description="What PopKit adds when the conversation is compacted.")
    clear_at_exit: bool = Field(
        False, description="Whether the end of a session clears what is expired. Only your own file may hold this key, no project's."
    )
    keep_days: KeepDays = Field(
        default_factory=KeepDays,
        description="How long PopKit keeps what it stores beside the archive. Only your own file may hold this key, no project's.",
    )

    @model_validator(mode="after")
    def _of_the_user_alone(self, info: ValidationInfo) -> Retention:
        if info.context == "project" and {"clear_at_exit", "keep_days"} & self.model_fields_set:
            raise ValueError("clear_at_exit and keep_days belong in your own configuration")
        return self


class RetentionDocument(_Notes):
    """A configuration file: the settings in a retention object."""

    retention: Retention = Field(default_factory=Retention, description="The settings.")


def validated(document: object, layer: str = "user") -> Retention:
    """The settings of a document, which may be the retention object itself; raises pydantic.ValidationError.

    Of `power-mode/config.json` (layer "power-mode") only the key `retention` is looked at.
    """
    if layer == "power-mode" and isinstance(document, dict):
        document = {key: document[key] for key in ("retention",) if key in document}
    wrapped = not isinstance(document, dict) or "retention" in document
    if wrapped:
        return RetentionDocument.model_validate(document, context=layer).retention
    return Retention.model_validate(document, context=layer)


def json_schema() -> dict:
    """The JSON Schema of a configuration file, both of its forms."""
    _, schema = models_json_schema([(RetentionDocument, "validation"), (Retention, "validation")])
    for definition in schema["$defs"].values():
        for member in definition["properties"].values():
            # What a file leaves out is what the layer below says, not the default of the model.
            member.pop("default", None)
            member.pop("title", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "PopKit retention configuration",
        "type": "object",
        "if": {"required": ["retention"]},
        "then": {"$ref": "#/$defs/RetentionDocument"},
        "else": {"$ref": "#/$defs/Retention"},
        "$defs": schema["$defs"],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")
