"""Arguments for mutants of state/ that survive."""

from __future__ import annotations

from .argument import Argument

_FIND = "archive.find_records(db, matches=matches"

_OPEN = "archive.open_archive(home.archive_path(popkit_home), create=False"

_REFRESHED = "fresh = rebuilt(site, paths, transcript_path) if site.only_reads else refreshed(site, paths, transcript_path, 4)[0]"

ARGUMENTS = [
    Argument(
        "hooks/utils/state/watched_files.py",
        'at = self.data.find(b"\\n", 1) if most else -1',
        "1 -> 2",
        "an entry begins with the end of a line and a quotation mark",
    ),
    *(
        Argument(
            "hooks/utils/state/sweeping.py",
            "FOLDERS, FILES, BYTES = 20, 200, 256 << 20",
            change,
            "what one call leaves the next one takes",
        )
        for change in ("200 -> 201", "200 -> (199)", "20 -> 21", "20 -> (19)", "256 -> 257", "256 -> (255)")
    ),
    *(
        Argument("hooks/utils/state/sweeping.py", "return 0.0", change, "no file is as old as that, to the second")
        for change in ("0.0 -> 1.0", "0.0 -> (-1.0)")
    ),
    Argument(
        "hooks/utils/state/store.py",
        "if time.time() - os.stat(path).st_mtime > _LONGEST_HOOK_S:",
        "time.time() - os.stat(path).st_mtime > _LONGEST_HOOK_S -> (time.time() - os.stat(path).st_mtime >= _LONGEST_HOOK_S)",
        "no file is exactly so old",
    ),
    *(
        Argument("hooks/utils/state/store.py", line, change, "where it is no list, its lines are read one by one")
        for line, change in (
            ('at_once = loads("[" + ",".join(lines) + "]") # half as long as one after the other', "\"[\" -> ''"),
            ('at_once = loads("[" + ",".join(lines) + "]") # half as long as one after the other', "\"]\" -> ''"),
            ('lines = [line for line in (files.read_text(path) or "").split("\\n") if line]', "\"\" -> 'mutant'"),
        )
    ),
    Argument(
        "hooks/utils/state/watched_files.py",
        'end = self.data.find(b"\\n", begin + 1)',
        "1 -> 2",
        "an entry begins with the end of a line and a quotation mark",
    ),
    Argument(
        "hooks/utils/state/memory_checks.py",
        "return {file: stamp for file, stamp in stamps.items() if stamp and max(stamp[:2]) < now_ns - _JUST_WRITTEN_NS}",
        "2 -> 3",
        "a file of so many bytes as there are nanoseconds since 1970 is larger than any",
    ),
    Argument(
        "hooks/utils/state/limit_readings.py",
        "return fresh or reading.resets_at > before.resets_at or not before.holds(reading.at)",
        "reading.resets_at > before.resets_at -> (reading.resets_at >= before.resets_at)",
        "two of a kind that are reset at the same time are of one window",
    ),
    *(
        Argument("hooks/utils/state/journal_bookings.py", line, "0 -> (-1)", "nothing is booked with fewer tokens than none")
        for line in (
            "return Cleared(at, 0, 0, ids) # what was kept out of these no longer saves anything",
            "booked.append(Cleared(time_of(entry), 0, 0, (made_whole,)))",
            "booked.append(Cleared(booking.at, 0, 0, (id,)))",
        )
    ),
    *(
        Argument(f"hooks/utils/state/{module}.py", line, "1 -> 2", "no two ends of lines stand together")
        for module, line in (
            ("lazy_rows", 'end = self.data.find(b"\\n", begin + 1, self.end)'),
            ("watched_files", 'at = self.data.find(b"\\n", at + 1) if at != -1 else at'),
        )
    ),
    Argument(
        "hooks/utils/state/lazy_rows.py",
        "if not self.rows.all_awake and key not in self.awake:",
        "not self.rows.all_awake and key not in self.awake -> (not self.rows.all_awake or key not in self.awake)",
        "what is awake is not woken again",
    ),
    Argument(
        "hooks/utils/state/data_rules.py",
        'name, _, rest = environ.get("AI_AGENT", "").partition("_")',
        "\"\" -> 'mutant'",
        "no client has this name",
    ),
    *(
        Argument(f"hooks/utils/state/{module}.py", line, change, "how much is read at once, or known of at once, is a matter of speed")
        for module, line, changes in (
            ("asking", "_CHUNK = 65_536", ("65_536 -> 65537", "65_536 -> (65535)")),
            ("opening", "REST_FROM = 16_000", ("16_000 -> 16001", "16_000 -> (15999)")),
            (
                "prompt_contents",
                "def _read(path: str, size: int, _changed_at: float) -> tuple[float, dict[str, int], list[int]]:",
                ("8 -> 9", "8 -> (7)", "lru_cache(maxsize=8) -> lru_cache()"),
            ),
        )
        for change in changes
    ),
    *(
        Argument(f"hooks/utils/state/{module}.py", line, change, "how long it waits for another process is nobody's to assert")
        for module, line, change in (
            ("asking", "_CONNECT_S = 0.01", "0.01 -> 1.01"),
            ("asking", "asking.settimeout(max(0.001, until - time.monotonic()))", "0.001 -> 1.001"),
            ("memory_checks", "_GIT_S = 1.0", "1.0 -> 2.0"),
            ("sockets", "_LIMIT_S, _POLL_S = 1.0, 0.01", "1.0 -> 2.0"),
            ("sockets", "_LIMIT_S, _POLL_S = 1.0, 0.01", "1.0 -> (0.0)"),
            ("sockets", "_LIMIT_S, _POLL_S = 1.0, 0.01", "0.01 -> 1.01"),
        )
    ),
    *(
        Argument(
            "hooks/utils/state/reconciling.py",
            line,
            change,
            "how often it looks again is a matter of speed",
        )
        for line, change in (
            ("time.sleep(min(TRANSCRIPT_LAG_S / 50, files.patience.left_s))", "50 -> 51"),
            ("time.sleep(min(TRANSCRIPT_LAG_S / 50, files.patience.left_s))", "50 -> (49)"),
            (_REFRESHED, "4 -> 5"),
            (_REFRESHED, "4 -> (3)"),
        )
    ),
    Argument(
        "hooks/utils/state/reconciling.py", "originals.close()", "originals.close() -> pass", "the connection ends with its last name"
    ),
    *(
        Argument("hooks/utils/state/sockets.py", line, change, why)
        for line, change, why in (
            (
                "while os.path.lexists(path) and time.monotonic() < until:",
                "time.monotonic() < until -> (time.monotonic() <= until)",
                "the clock never stands at it",
            ),
            ("time.sleep(_POLL_S)", "time.sleep(_POLL_S) -> pass", "it saves the processor"),
            ("return 0.0", "0.0 -> 1.0", "what went between two looks is asked in vain wherever it stands"),
            ("return 0.0", "0.0 -> (-1.0)", "as above"),
            ("return 0.0", "0.0 -> None", "as above"),
            ('return ""', '"" -> None', "it is only asked whether it leads anywhere"),
        )
    ),
    *(
        Argument("hooks/utils/state/stale_ledgers.py", line, "\"\" -> 'mutant'", "no project, transcript or booking has this name")
        for line in (
            'return Site(environ, session_id, session.read(site.home, session_id).project or "")',
            'transcript = session.read(popkit_home, paths.session_id).transcript or ""',
            'text = files.read_text(paths.journal) or ""',
        )
    ),
    Argument("hooks/utils/state/asking.py", 'answer = b""', "b\"\" -> b'mutant'", "nobody asks for the first word of a status line"),
    Argument(
        "hooks/utils/state/delivery.py",
        'theirs = protocol.of("").own_memory(environ, root)',
        "\"\" -> 'mutant'",
        "by either name it is the host that runs hooks",
    ),
    Argument(
        "hooks/utils/state/past.py",
        'files.append_text(join(popkit_home, PAST), dumps(entry) + "\\n")',
        "\"\\n\" -> ''",
        "the next line closes the last one",
    ),
    Argument(
        "hooks/utils/state/past.py",
        'for line in (files.read_text(join(popkit_home, PAST)) or "").splitlines():',
        "\"\" -> 'mutant'",
        "a line that is no JSON is passed over",
    ),
    *(
        Argument(
            "hooks/utils/state/closed.py", "_change(popkit_home, session_id, None, 0.0)", change, "any time before the first session does"
        )
        for change in ("0.0 -> 1.0", "0.0 -> (-1.0)")
    ),
    *(
        Argument(
            "hooks/utils/state/data_rules.py",
            "_MOST_BYTES, _MOST_RULES, _NAME_CHARS = 4_096, 20, 60",
            change,
            "as many names as there may be, as long as they may be, are a third of that",
        )
        for change in ("4_096 -> 4097", "4_096 -> (4095)")
    ),
    Argument(
        "hooks/utils/state/pending.py",
        "def note(paths: store.ContextFiles, call: Call | None = None, prompted: float = 0.0, entries: Sequence[Entry] = ()) -> None:",
        "0.0 -> (-1.0)",
        "either is no time of a message",
    ),
    Argument("hooks/utils/state/memory_reading.py", 'start = text.find("{") if depth else -1', "1 -> 2", "it is asked whether it is one"),
    Argument(
        "hooks/utils/state/memory_text.py",
        'ways = (_by_ending(plain, lambda file: {file.find(".", 1), file.rfind(".", 1)}), '
        '_by_ending(plain, lambda file: {file.rfind(".", 1)}))',
        "1 -> 2",
        "where the last dot is the second character, the first one is that, too",
    ),
    Argument(
        "hooks/utils/state/memory_text.py",
        "text = (stems[0] if len(stems) == 1 else f\"{{{','.join(stems)}}}\") + ending",
        "0 -> (-1)",
        "there is one",
    ),
    Argument(
        "hooks/utils/state/memory.py",
        "data = _bytes_of(self.document_path, MOST_BYTES + 1)",
        "1 -> 2",
        "one byte too many is as bad as two",
    ),
    Argument(
        "hooks/utils/state/memory.py",
        'settings = Project(popkit_home, Repository(key, "", "")).settings()',
        "\"\" -> 'mutant'",
        "the folder of a project has the name of its key alone",
    ),
    Argument(
        "hooks/utils/state/receipts.py",
        'return sorted(rows.values(), key=lambda row: row["number"] or 0)',
        "0 -> (-1)",
        "calls are numbered from 1",
    ),
    Argument(
        "hooks/utils/state/spared_lookups.py",
        'yield (self._original(handle) or "") if handle and self._original else text_of_blocks(content)[0]',
        "\"\" -> 'mutant'",
        "a word without a dot is the name of no file",
    ),
    Argument(
        "hooks/utils/state/sweeping.py",
        'transcript = session.read(popkit_home, name).transcript or ""',
        "\"\" -> 'mutant'",
        "what lies in no folder is never gone, and no transcript of ours",
    ),
    Argument(
        "hooks/utils/state/sweeping.py",
        "return os.lstat(path).st_mode & 0o170000 == 0o040000",
        "0o170000 -> 61441",
        "no folder of ours is open to others",
    ),
    Argument("hooks/utils/state/sweeping.py", "return False", "False -> True", "what is gone can neither be moved aside nor emptied"),
    *(
        Argument("hooks/utils/state/archived.py", line, change, "it narrows what is looked at; what matches is asked of each behind it")
        for line, change in (
            ('path, _, last = pattern.replace("\\\\", "/").rpartition("/")', "\"\\\\\" -> ''"),
            ("elif path and not last:", "path and not last -> (path or not last)"),
            (
                'named = lambda name: globs.matches(last, name) or (" " in name and globs.matches(pattern, name)) # noqa: E731',
                "\" \" -> ''",
            ),
            (
                "return archive.find_records(db, matches=matches, named=named, **where)",
                f"{_FIND}, named=named, **where) -> {_FIND}, **where)",
            ),
        )
    ),
    *(
        Argument(
            "hooks/utils/state/archived.py",
            "db = archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=0.0)",
            change,
            "how long it waits for another process is nobody's to assert",
        )
        for change in (
            "0.0 -> 1.0",
            "0.0 -> (-1.0)",
            f"{_OPEN}, busy_s=0.0) -> {_OPEN})",
        )
    ),
    Argument("hooks/utils/state/archived.py", "db.close()", "db.close() -> pass", "the connection ends with its last name"),
    Argument(
        "hooks/utils/state/archived.py",
        "self._db.close()",
        "self._db.close() -> pass",
        "the connection ends with its last name, in the next line",
    ),
    Argument(
        "hooks/utils/state/archived.py", "os.stat(path)", "os.stat(path) -> pass", "it spares loading sqlite3 where there is no archive"
    ),
    Argument(
        "hooks/utils/state/archived.py",
        "return archive.open_archive(path, create=False, busy_s=files.patience.next_s())",
        "archive.open_archive(path, create=False, busy_s=files.patience.next_s()) -> "
        "archive.open_archive(path, busy_s=files.patience.next_s())",
        "it is there: that was asked before",
    ),
    Argument(
        "hooks/utils/state/archived.py",
        "self.close()",
        "self.close() -> pass",
        "the connection ends with its last name, in the next line",
    ),
]
