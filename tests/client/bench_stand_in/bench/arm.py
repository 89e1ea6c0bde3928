"""What the bench's guide (arms/README.md) and the declarations of bench/arm.py promise to an arm, and no more."""

from __future__ import annotations

from dataclasses import dataclass, field

ARMS: dict[str, type] = {}


@dataclass
class ToolAttach:
    """What a ToolArm adds to a run."""

    tools: list = field(default_factory=list)
    mcp_server_cmd: list | None = None
    plugin_dir: str | None = None
    plugin_tool_globs: list = field(default_factory=list)
    replace_tools: bool = False
    server_env: dict = field(default_factory=dict)


class Arm:
    """The control: nothing is added."""

    name = "baseline"
    kind = "baseline"
    needs = ()

    def ready(self) -> tuple[bool, str]:
        return True, "ok"

    def setup(self) -> None:
        pass

    def teardown(self) -> None:
        pass


class ToolArm(Arm):
    """The model is asked directly; `attach` says what the agent gets beside it."""

    kind = "tool"


def register(name: str):
    def registered(arm: type) -> type:
        assert name not in ARMS, "the bench refuses a name that is taken"
        ARMS[name] = arm
        return arm

    return registered


register("baseline")(Arm)
