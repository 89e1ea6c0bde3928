"""Note a person's request to remove content from a session that is not running, or to bring it back: a small file beside the session's
state, until the helper carries it out before the first request of the resumed session. A damaged file counts as empty."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import dumps, texts
from ..io.system import join

_NAME = "noted.json"
# The kinds of it, as the file names them: the one that was asked for last comes last.
ONLY, BACK = "only", "back"
_SHARE, _FURTHER = "share", "further"


class SessionNotes:
    """The file of one session. `only`: ids of the results that leave; `share`: how much of the conversation stays at most where they
    leave a cold cache, None where they leave any, `further`: tokens that leave for that, estimated; `back`: handles of what comes back."""

    __slots__ = ("_path",)

    def __init__(self, popkit_home: str, session_id: str) -> None:
        self._path = join(home.session_folder(popkit_home, session_id), _NAME)

    @property
    def only(self) -> list[str]:
        return self._read(ONLY)

    @property
    def share(self) -> float | None:
        share = files.read_object(self._path).get(_SHARE)
        return share if isinstance(share, float) and 0 < share <= 1 else None

    @property
    def further(self) -> int:
        further = files.read_object(self._path).get(_FURTHER)
        return further if type(further) is int and self.share is not None else 0

    @property
    def has_clear(self) -> bool:
        return bool(self.only) or self.share is not None

    @property
    def back(self) -> list[str]:
        return self._read(BACK)

    def add(self, only: list[str] | None = None, back: list[str] | None = None, share: float | None = None, further: int = 0) -> None:
        """Add a request. OSError where it cannot be written."""
        files.make_private_folder(self._path.rpartition("/")[0], may_be_link=False)
        self._change({ONLY: only or [], BACK: back or []}, share=share, further=further)

    @property
    def newest(self) -> str:
        """Return the kind that was asked for last, "" where nothing is noted."""
        return next((name for name in reversed(files.read_object(self._path)) if name in (ONLY, BACK) and self._has(name)), "")

    def forget_newest(self) -> str:
        """Forget the newest request; return its kind, "" without any."""
        newest = self.newest
        return newest if newest and self.forget(newest) else ""

    def forget(self, kind: str) -> bool:
        """Forget all requests of a kind; return whether there were any."""
        if not self._has(kind):
            return False
        self._change({}, kind)
        return True

    def _has(self, name: str) -> bool:
        return self.has_clear if name == ONLY else bool(self.back)

    def _read(self, name: str) -> list[str]:
        return texts(files.read_object(self._path).get(name))

    def _change(self, added: dict[str, list[str]], forgotten: str | None = None, share: float | None = None, further: int = 0) -> None:
        with files.lock_of(self._path):
            known = dict.fromkeys([*files.read_object(self._path), ONLY, BACK])
            is_new = {ONLY: bool(added.get(ONLY)) or share is not None, BACK: bool(added.get(BACK))}
            names = sorted((name for name in known if name in (ONLY, BACK)), key=is_new.__getitem__)
            now: dict[str, object] = {
                name: list(dict.fromkeys([*self._read(name), *added.get(name, [])])) for name in names if name != forgotten
            }
            if share is None and forgotten != ONLY:
                share, further = self.share, self.further
            if share is not None:
                now.update({_SHARE: share, _FURTHER: further})
            if any(now.values()):
                files.replace_text(self._path, dumps(now))
            else:
                files.remove(self._path)
