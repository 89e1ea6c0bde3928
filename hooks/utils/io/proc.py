"""Read the system's information on processes."""

from __future__ import annotations

from .system import os

_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "zsh", "busybox", "env", "timeout")
_MOST_SHELLS = 8


def client() -> str:
    """Return the nearest ancestor process that is not a shell, with its start time."""
    pid = os.getppid()
    for _ in range(_MOST_SHELLS):
        name, parent, began = facts(pid)
        if name not in _SHELLS or parent <= 1:
            break
        pid = parent
    return f"{pid} {began}"


def facts(pid: int) -> tuple[str, int, str]:
    """Return (name, parent, when it began) of a process; ("", 0, "") where it is unknown."""
    try:
        head, _, rest = read_of_system(f"/proc/{pid}/stat", 4_096).rpartition(") ")
        fields = rest.split(" ")
        return head.partition(" (")[2], int(fields[1]), fields[19]
    except (OSError, ValueError, IndexError):
        return "", 0, ""


def read_of_system(path: str, most: int) -> str:
    """Return the text of a file that the system makes up as it is read."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while most > 0:
            piece = os.read(fd, min(most, 1 << 16))
            if not piece:
                break
            pieces.append(piece)
            most -= len(piece)
    finally:
        os.close(fd)
    return b"".join(pieces).decode("utf-8", "replace")
