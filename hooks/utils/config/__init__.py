"""The configuration: its keys, its layers, its mistakes."""

from __future__ import annotations

GONE = "gone"  # in the effective configuration: the names of settings that an earlier version knew (gone.py)
