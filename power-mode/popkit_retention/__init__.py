"""Everything above the hooks' library (`core`): commands and services."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .core.errors import PopkitError as PopkitError

    __version__: str

# Loaded when they are asked for: every command starts with this package.
_HOMES = {"PopkitError": ("core.errors", "PopkitError"), "__version__": ("core.version", "VERSION")}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, value = _HOMES[name]
    return getattr(import_module(f".{module}", __name__), value)
