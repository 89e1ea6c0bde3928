"""Mutants that survive, and may, by the room that they are in."""

from __future__ import annotations

from . import archive, policy, reclaim, state
from .argument import Argument as Argument

ARGUMENTS = [*archive.ARGUMENTS, *policy.ARGUMENTS, *reclaim.ARGUMENTS, *state.ARGUMENTS]
