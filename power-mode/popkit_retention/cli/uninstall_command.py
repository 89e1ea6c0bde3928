"""`popkit uninstall`: delete what PopKit has stored, after showing it along with the placeholders that could no longer be restored. Claude
Code removes the plugin itself; the commands for that are printed. Exit 0 when everything is deleted, else 1."""

from __future__ import annotations

import contextlib
import io
import os
import sqlite3
import sys

from popkit_retention.core import archive, text, units
from popkit_retention.core.io import files, home, volatile
from popkit_retention.core.state import placements, sockets

from .. import features
from ..operations import stores
from ..views.deletions import placeholders
from . import claude_settings, shell_setup, terminal
from .answering import Answer, Refused, message_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from popkit_retention.core.archive.records import Record
    from popkit_retention.core.flag_parser import Words

MISTAKES = (OSError,)
PLUGIN = ("claude plugin uninstall popkit@popkit", "claude plugin marketplace remove popkit")


def run(args: Words, environ: Mapping[str, str]) -> Answer:
    """Show what would be deleted, ask, and delete it."""
    with contextlib.redirect_stdout(io.StringIO() if args.json else sys.stdout):
        return Answer([], _uninstall(args, environ))


def _uninstall(args: Words, environ: Mapping[str, str]) -> dict:
    folder = home.popkit_home(environ)
    placed = _placeholders(folder, environ)
    parts = stores.sizes(folder)
    _tell(folder, parts, placed, environ)
    if args.json and not (args.yes or args.dry_run):
        raise Refused("nothing was deleted: --json needs --yes or --dry-run")
    result = {
        "folder": folder,
        "bytes": sum(part["bytes"] for part in parts.values()),
        "parts": parts,
        "placeholders": placements.handles_by_transcript(placed),
        "dry_run": args.dry_run,
        "deleted": [],
        "left": [],
        "then": list(PLUGIN),
    }
    if args.dry_run:
        _show(["This was a dry run: nothing was deleted."], environ)
        return result
    if not args.yes and not terminal.is_confirmed("Delete what PopKit has stored?"):
        raise Refused("nothing was deleted. --yes skips the question")
    for scope in ("user", "project"):
        _remove_status_line(scope, environ)
    for removes in features.offering("removes"):
        for message in removes(environ):
            _show(text.wrap(text.clean(message)), environ)
    shell_setup.remove(environ)
    result["deleted"], result["left"] = _delete(folder)
    if result["left"]:
        _show(text.wrap(f"Left in {folder}: {text.listed(result['left'])}"), environ)
    done = "Deleted. To" if result["deleted"] else "To"
    _show([f"{done} remove the plugin itself, run in a shell:", text.whole(*("  " + command for command in PLUGIN))], environ)
    return result


def _show(lines: Iterable[text.Line], environ: Mapping[str, str]) -> None:
    terminal.write_view(lines, sys.stdout, environ)


def _placeholders(folder: str, environ: Mapping[str, str]) -> dict[str, list[Record]]:
    """Return the archived records whose placeholders remain, by transcript."""
    try:
        db = archive.open_archive(home.archive_path(folder), create=False)
    except FileNotFoundError:
        return {}
    except (OSError, sqlite3.Error, archive.ArchiveError) as error:
        return _unknown(error, environ)
    try:
        return placements.placed_records(db, environ)
    except sqlite3.Error as error:
        return _unknown(error, environ)
    finally:
        db.close()


def _unknown(error: Exception, environ: Mapping[str, str]) -> dict[str, list[Record]]:
    message = f"The archive cannot be read, so PopKit does not know which placeholders can be restored: {message_of(error)}"
    _show(text.wrap(text.clean(message)), environ)
    return {}


def _tell(folder: str, parts: dict, placed: dict[str, list[Record]], environ: Mapping[str, str]) -> None:
    lines = text.title("Uninstall")
    lines += text.wrap(f"{folder} holds {stores.in_words(parts)}." if parts else f"There is nothing in {folder}.")
    for advice, *where in [storage.keep for storage in stores.every() if storage.keep and storage.title in parts]:
        lines += [*text.wrap(advice), text.whole(*("  " + line.format(folder) for line in where))]
    for warns in features.offering("warns"):
        lines += warns(environ, parts)
    if placed:
        many = f"{units.counted(sum(map(len, placed.values())), 'placeholder')} in {units.counted(len(placed), 'session')}"
        lines += ["", *text.wrap(f"{many} could no longer be restored:"), *placeholders(placed), ""]
        lines += text.wrap("To put their contents back first: /popkit undo in each of these sessions, once it is resumed.")
    _show(lines, environ)


def _remove_status_line(scope: str, environ: Mapping[str, str]) -> None:
    try:
        ours = claude_settings.Settings(scope, environ).ours()
    except (Refused, OSError, ValueError):
        return  # a file that cannot be read is left alone
    if ours:
        claude_settings.uninstall_status_line(scope, True, environ)


def _delete(folder: str) -> tuple:
    """Delete our files; return (names deleted, names left) in our folder. Only files that PopKit makes are deleted, with the folders that
    this leaves empty. No link is followed."""
    before = files.names(folder)
    sockets.end_all(folder)
    for in_memory, _ in volatile.folders(folder):
        with contextlib.suppress(OSError):  # a session that still runs removes it at its end
            volatile.remove(in_memory)
    for top in stores.trees(folder):
        for inner, folders, names in os.walk(os.path.join(folder, top), topdown=False):
            links = [name for name in folders if os.path.islink(os.path.join(inner, name))]
            _unlink_ours(folder, inner, names + links)
            files.remove_empty(inner)
    files.remove_empty(os.path.join(folder, "data"))
    _unlink_ours(folder, folder, [name for name in before if name not in stores.folders()])
    left = files.names(folder)
    if not left and not os.path.islink(folder):
        files.remove_empty(folder)
    return [name for name in before if name not in left], left


def _unlink_ours(popkit_home: str, folder: str, names: list) -> None:
    for path in [os.path.join(folder, name) for name in names]:
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        store = None if is_folder else stores.owner(popkit_home, path)
        if store and not store.stays:
            os.unlink(path)
