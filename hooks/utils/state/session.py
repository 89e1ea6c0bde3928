"""Keep the facts of a session, in a file."""

from __future__ import annotations

from ..io import files, home
from ..io.codec import dumps
from ..io.system import join, os
from ..policy.session_facts import SessionFacts, is_fact

_NAME = "session.json"


def path_of(popkit_home: str, session_id: str) -> str:
    return join(home.session_folder(popkit_home, session_id), _NAME)


def read(popkit_home: str, session_id: str) -> SessionFacts:
    """Return the facts of a session; none where nothing (readable) is known."""
    path = path_of(popkit_home, session_id)
    return _known(path, files.spilled(path))


def _known(path: str, spilled: list[str]) -> SessionFacts:
    """Return the facts of a file and of the spilled files since."""
    facts = SessionFacts()
    for name in (path, *spilled):
        facts = facts.but(**{name: fact for name, fact in files.read_object(name).items() if is_fact(name, fact)})
    return facts


def update(popkit_home: str, session_id: str, **facts: object) -> SessionFacts:
    """Set facts (None removes one) and return all; write only when something has changed. Two processes at once lose no fact, and what
    cannot be written in time is written by the next process that can."""
    path = path_of(popkit_home, session_id)
    files.make_private_folder(home.session_folder(popkit_home, session_id), may_be_link=False)
    try:
        with files.lock_of(path):
            spilled = files.spilled(path)
            known = _known(path, spilled)
            changed = known.but(**facts)
            if spilled or vars(changed) != vars(known):
                files.replace_text(path, dumps(vars(changed)))
            for name in spilled:
                os.unlink(name)
    except files.LockTimeout:
        files.spill(path, dumps(facts))
        changed = read(popkit_home, session_id)
    return changed


def claim(popkit_home: str, session_id: str, name: str, value: object) -> bool:
    """Set a fact that is not set yet; return whether this process did. Of two processes at once only one does; neither where another holds
    the lock for too long."""
    path = path_of(popkit_home, session_id)
    files.make_private_folder(home.session_folder(popkit_home, session_id), may_be_link=False)
    try:
        with files.lock_of(path):
            known = _known(path, files.spilled(path))
            if getattr(known, name) is not None:
                return False
            files.replace_text(path, dumps(vars(known.but(**{name: value}))))
    except files.LockTimeout:
        return False
    return True
