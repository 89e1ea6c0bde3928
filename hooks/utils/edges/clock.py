"""The time of day, for every edge that needs one."""

from .system import now

__all__ = ["now"]
