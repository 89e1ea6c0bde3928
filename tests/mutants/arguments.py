"""Mutants that survive, and may: what they do is what the code does.

Each is named by its file, the first line of the statement that it changes (with single blanks) and the change.
"""

from __future__ import annotations

from typing import NamedTuple


class Argument(NamedTuple):
    file: str
    line: str
    change: str
    why: str


_FIND = "archive.find_records(db, matches=matches"
_OPEN = "archive.open_archive(home.archive_path(popkit_home), create=False"

_REFRESHED = "fresh = rebuilt(site, paths, transcript_path) if site.only_reads else refreshed(site, paths, transcript_path, 4)[0]"
_SIGNS = ("popkit restore ", " as in your ", " as in the input of your ", " in a row]", " lines]", " line]", "[part of this result")


def _quoted(text: str) -> str:
    return f'"{text}"'


ARGUMENTS = [
    Argument(
        "hooks/utils/archive/zones.py",
        "compute_zone(1, hot_max, warm_max)",
        "1 -> 2",
        "any position does: it is the boundaries that are checked",
    ),
    Argument(
        "hooks/utils/archive/terms.py",
        "if len(run) > 2 and _UNSPACED.match(run):",
        "2 -> (1)",
        "the only two neighbours of a run of two are the run",
    ),
    Argument(
        "hooks/utils/archive/terms.py",
        "if len(run) > 2 and _UNSPACED.match(run):",
        "len(run) > 2 -> (len(run) >= 2)",
        "as above",
    ),
    *(
        Argument(
            "hooks/utils/archive/terms.py",
            "def _of_word(word: str) -> set[str]:",
            change,
            "how many words are remembered is a matter of speed",
        )
        for change in ("2_048 -> 2049", "2_048 -> (2047)")
    ),
    *(
        Argument(
            "hooks/utils/policy/left_names.py", "_CALLS = 128", change, "names that only the oldest call of so many holds are worth little"
        )
        for change in ("128 -> 129", "128 -> (127)")
    ),
    Argument(
        "hooks/utils/archive/searching.py",
        "_COMMON = 20_000 # a word that so many records hold is as common as any",
        "20_000 -> 20001",
        "where about so many records hold a word, nobody asks for one more or less",
    ),
    Argument(
        "hooks/utils/archive/searching.py",
        "_COMMON = 20_000 # a word that so many records hold is as common as any",
        "20_000 -> (19999)",
        "as above",
    ),
    Argument(
        "hooks/utils/archive/index.py",
        'self.db.execute("RELEASE entering")',
        'self.db.execute("RELEASE entering") -> pass',
        "the end of the transaction releases it, and a name means the newest savepoint",
    ),
    *(
        Argument(
            "hooks/utils/policy/commandline/worktree.py", line, "\"to\" -> ''", "a move that has none of the other names is one to a place"
        )
        for line in (
            'return (cwd, "to", " ".join(named)) if named and rest[:1] != ["--"] and named[0] not in ("HEAD", "@") else None',
            'return (cwd, "to", named[0]) if named and named[0] not in ("HEAD", "@") else None',
            'return cwd, "to", " ".join(["bisect", *rest])',
            'return (cwd, "to", " ".join([source, *paths])) if is_of_files and source not in ("", "HEAD", "@") else None',
            'return cwd, "to", " ".join(named[1:])',
            'return cwd, "to", " ".join(words[2:])',
        )
    ),
    Argument(
        "hooks/utils/policy/masking/named.py",
        'if end < len(lowered) and ("-" in before[-1] or not _SETTERS.isdisjoint(before)):',
        'end < len(lowered) and ("-" in before[-1] or not _SETTERS.isdisjoint(before)) -> '
        "(end < len(lowered) or ('-' in before[-1] or not _SETTERS.isdisjoint(before)))",
        "a text that is looked at in vain is left as it is",
    ),
    Argument(
        "hooks/utils/policy/masking/accounts.py",
        'program = line.words[number - 1].rpartition("/")[2] if line.same(number, number - 1) else ""',
        "\"\" -> 'mutant'",
        "no program has this name",
    ),
    Argument("hooks/utils/policy/commandline/printed.py", "_MOST_STEPS = 100", "100 -> (99)", "nobody types so many commands in a line"),
    Argument("hooks/utils/policy/losses.py", "size = 0", "0 -> 1", "it is compared with thousands of characters"),
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
    Argument(
        "hooks/utils/reclaim/restoring.py",
        "with closing(archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=WAIT_S)) as db:",
        "archive.open_archive(home.archive_path(popkit_home), create=False, busy_s=WAIT_S) -> "
        "archive.open_archive(home.archive_path(popkit_home), create=False)",
        "how long it waits for another process is nobody's to assert",
    ),
    Argument(
        "hooks/utils/reclaim/restoring.py",
        """mark = b'"' + tool_use_id.encode("utf-8", "surrogatepass") + b'"'""",
        "b'\"' -> b''",
        "it spares the reading of lines; what a line holds is asked exactly behind it",
    ),
    Argument(
        "hooks/utils/reclaim/refusing.py",
        'entry = entries.entry_of(line) if b"tool_result" in line else None',
        "b\"tool_result\" -> b''",
        "as above",
    ),
    *(
        Argument(f"hooks/utils/archive/{module}.py", line, "0 -> (-1)", "the row has one column")
        for module, line in (
            ("index", 'return db.execute("SELECT count(*) FROM unindexed").fetchone()[0]'),
            ("searching", "known = record(db, row[0]) if row else None"),
            ("index", 'if 2 * len(rows) > db.execute("SELECT count(*) FROM indexed").fetchone()[0]:'),
            (
                "index",
                'missing = db.execute(f"SELECT count(*) FROM ({held} EXCEPT SELECT * FROM ({known}))").fetchone()[0] # noqa: S608',
            ),
            ("index", 'surplus = db.execute(f"SELECT count(*) FROM (SELECT seq FROM indexed EXCEPT {held})").fetchone()[0] # noqa: S608'),
            ("searching", "count = db.execute(held, (query,)).fetchone()[0]"),
            ("sizes", 'pages = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")]'),
            ("sizes", "return {"),
        )
    ),
    *(
        Argument(
            "hooks/utils/archive/searching.py",
            "return max(((len(needle), lowered.find(needle)) for needle in needles if needle in lowered), default=(0, 0))[1]",
            change,
            "the default is compared with nothing, and a line is cut at its beginning for every place near that",
        )
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    Argument(
        "hooks/utils/reclaim/access.py",
        "_TRIES, _PAUSE_S = 5, 0.05",
        "0.05 -> 1.05",
        "how long it waits between two looks at a line that is being written is nobody's to assert",
    ),
    *(
        Argument(
            "hooks/utils/reclaim/compaction_advice.py",
            "_LOOKED_AT = 4_000 # masked before it is cut: half a secret is one too",
            change,
            "300 characters of it are shown: how many more are masked is a matter of speed",
        )
        for change in ("4_000 -> 4001", "4_000 -> (3999)")
    ),
    Argument(
        "hooks/utils/policy/planning.py",
        'decisions.append(Decision(result, KEEP, "live", tokens, placeholder_tokens(result, state.calibration, rules)))',
        "\"live\" -> ''",
        "by lifetime or by worth, each decision gets another reason before anybody reads it",
    ),
    Argument(
        "hooks/utils/policy/classify.py",
        'label = call.tool + \' "\' + pattern + \'"\' + (" in " + shown_path(roots[0], cwd) if root else "") + narrowed',
        "0 -> (-1)",
        "a search of the host has one root",
    ),
    Argument(
        "hooks/utils/policy/commandline/reads.py",
        'last = scripts[0][:-1] if len(scripts) == 1 and scripts[0][-1:] == "q" else ""',
        "0 -> (-1)",
        "there is one script",
    ),
    Argument(
        "hooks/utils/policy/masking/__init__.py",
        'if ("-u" in lowered or " -a " in lowered) and any(mark in lowered for mark in (":", "%", "-p", "lftp")):',
        "\"-p\" -> ''",
        "a line that is looked at in vain keeps its words: this only saves the time",
    ),
    *(
        Argument(
            "hooks/utils/reclaim/cooling.py",
            "ASKED, PATIENCE_S = 25, 2.0",
            change,
            "about how many git is asked at once, and for how long, is a matter of speed: the others keep their contents until later",
        )
        for change in ("25 -> 26", "25 -> (24)", "2.0 -> 3.0")
    ),
    Argument(
        "hooks/utils/policy/messages.py",
        "chars = max(0, len(sealed) - _SEAL_CHARS) * 3 // 4 if isinstance(sealed, str) else 0",
        "0 -> 1",
        "three quarters of one character are none",
    ),
    Argument(
        "hooks/utils/policy/conversation.py",
        "self._tokens, self._growth, self.state.calibration = tokens, (0, 0, 0), tokens",
        "0 -> 1",
        "one token of the thousands that are measured before anything is calibrated",
    ),
    Argument(
        "hooks/utils/policy/commandline/lookups.py",
        'if "F" in letter_marks and pattern.replace(" ", "").replace("_", "").isalnum():',
        "\"\" -> 'mutant'",
        "letters in the place of a blank are as harmless as none",
    ),
    Argument(
        "hooks/utils/policy/masking/words.py",
        'return name == "*" or (name[:1] == "$" and name[1:].strip("{}").replace("_", "").isalnum())',
        "\"\" -> 'mutant'",
        "letters in the place of an underscore make a name as well",
    ),
    *(
        Argument(
            "hooks/utils/policy/masking/words.py",
            'DIALOGUES = ("curl", "expect", "spawn", "pgpass", "ftp", "machine ")',
            f"\"{mark}\" -> ''",
            "a text in which a dialogue is looked for in vain keeps its words: this only saves the time",
        )
        for mark in ("curl", "expect", "spawn", "pgpass", "ftp", "machine ")
    ),
    Argument(
        "hooks/utils/policy/context.py",
        "edited = self.edits.get(str(result.turn), 0) if result.kind == kinds.READ and not result.ended else 0",
        "0 -> 1",
        "an edit counts where it comes after a result, and no result comes before the first",
    ),
    Argument(
        "hooks/utils/policy/commandline/runs.py",
        'listing = "" # the option behind which words are tasks, or packages',
        "\"\" -> 'mutant'",
        "whatever is none of these options does",
    ),
    Argument(
        "hooks/utils/policy/commandline/reads.py",
        'address = command[:-3] if command.endswith("{p}") else command[:-1] if command.endswith("p") else ""',
        "\"\" -> 'mutant'",
        "neither is the number of a line",
    ),
    Argument(
        "hooks/utils/policy/masking/words.py",
        'name = word.rpartition("/")[2].lower().removesuffix(".exe").rstrip(":") if len(word) < 80 else ""',
        "\"\" -> 'mutant'",
        "no program has this name",
    ),
    Argument(
        "hooks/utils/policy/messages.py",
        "chars = max(0, len(sealed) - _SEAL_CHARS) * 3 // 4 if isinstance(sealed, str) else 0",
        "0 -> (-1)",
        "a character less than none is no token less",
    ),
    Argument(
        "hooks/utils/policy/messages.py",
        "return max(round(chars / _SEALED_CHARS_PER_TOKEN), estimate_tokens(text) if isinstance(text, str) else 0)",
        "0 -> (-1)",
        "the other of the two is no less than none",
    ),
    Argument(
        "hooks/utils/policy/outlines.py",
        "return int(len(text) * OUTLINE_SHARE) if len(text) >= LEAST_CHARS else 0",
        "0 -> (-1)",
        "nothing fits into either",
    ),
    Argument(
        "hooks/utils/policy/secret_shapes.py",
        'end = _run_end(text, middle + 1, at + _KEY_CHARS) if text[middle : middle + 1] == "." else 0',
        "0 -> (-1)",
        "what ends before it begins is too short",
    ),
    *(
        Argument("hooks/utils/reclaim/in_place.py", "def __init__(", change, "whether one token leaves or none is nobody's question")
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    Argument(
        "hooks/utils/reclaim/in_place.py",
        'if window and sizes.after > _MOST_OF_WINDOW * window["window"]:',
        "sizes.after > _MOST_OF_WINDOW * window[\"window\"] -> (sizes.after >= _MOST_OF_WINDOW * window['window'])",
        "the share is a round one, and the sizes are estimates",
    ),
    *(
        Argument(
            "hooks/utils/reclaim/in_place.py",
            "entries = [journal.undone(ids, noted or max(0, grown), now), journal.put_back(handles, now, sizes.after)]",
            change,
            "what comes back is longer than the words in its place",
        )
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    Argument("hooks/utils/reclaim/in_place.py", 'content = content_of(db, at) or ""', "\"\" -> 'mutant'", "neither has a handle in it"),
    *(
        Argument("hooks/utils/reclaim/recorded_compactions.py", "chain.add(entry, 0)", change, "nobody asks where a boundary ends")
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    *(
        Argument(
            "hooks/utils/reclaim/recorded_compactions.py",
            "if index is None and entries.host_of(path) != CLAUDE_CODE:",
            change,
            "a recording is translated once or twice: it tells the same",
        )
        for change in (
            "index is None -> (index is not None)",
            "index is None and entries.host_of(path) != CLAUDE_CODE -> (index is None or entries.host_of(path) != CLAUDE_CODE)",
            "index is None and entries.host_of(path) != CLAUDE_CODE -> (not (index is None and entries.host_of(path) != CLAUDE_CODE))",
            "entries.host_of(path) != CLAUDE_CODE -> (entries.host_of(path) == CLAUDE_CODE)",
        )
    ),
    Argument(
        "hooks/utils/archive/records.py",
        "for length in range(HANDLE_CHARS, LONGEST_HANDLE + 1):",
        "1 -> 2",
        "no two hashes agree in 255 bits",
    ),
    *(
        Argument("hooks/utils/policy/commandline/brackets.py", line, f"\"{mark}\" -> ''", "what is looked for in vain changes nothing")
        for line, mark in (
            ('if "&" in text:', "&"),
            ('if "|" in text:', "|"),
            ('if ">|" in text:', ">|"),
            ('if ";" in text:', ";"),
            (r'if "\n" in text:', r"\n"),
            ('if "(" in text or ")" in text:', "("),
            ('if "(" in text or ")" in text:', ")"),
        )
    ),
    *(
        Argument("hooks/utils/policy/commandline/brackets.py", "self.groups = 0", change, "any numbers do that tell brackets apart")
        for change in ("0 -> 1", "0 -> (-1)")
    ),
    *(
        Argument("hooks/utils/policy/commandline/quoting.py", line, change, "it spares the slow way through the text, which ends alike")
        for line, change in (
            ("while True:", "True -> False"),
            *(('if end == -1 or "$(" in held or "${" in held or "`" in held:', f"\"{mark}\" -> ''") for mark in ("$(", "${", "`")),
        )
    ),
    *(
        Argument("hooks/utils/policy/commandline/shell.py", line, f"\"{mark}\" -> ''", "what is looked for in vain changes nothing")
        for line, mark in (
            ('if ";" in text:', ";"),
            ('if "&" in text:', "&"),
            ('if "|" in text:', "|"),
            ('for stage, part in enumerate(pipeline.split("|") if "|" in pipeline else (pipeline,)):', "|"),
            *(('if ">" in part or "<" in part or "&" in part:', mark) for mark in "><&"),
            ('while words and "=" in words[0] and is_assignment(words[0]):', "="),
            (r'if "\x00" in part:', r"\x00"),
        )
    ),
    Argument(
        "hooks/utils/policy/commits.py",
        'return self._line(call.traits.as_posix(call.command), cwd, text) if "git" in call.command else None',
        "\"git\" -> ''",
        "a line without git commits nothing",
    ),
    Argument(
        "hooks/utils/policy/composition.py",
        "shrunk = max(0.0, (earlier + rest) / earlier)",
        "0.0 -> (-1.0)",
        "it is no less than nothing but for what rounding leaves",
    ),
    Argument("hooks/utils/policy/door/sections.py", 'SAID = "said"', "\"said\" -> ''", "whatever no kind is called does"),
    Argument(
        "hooks/utils/policy/least_needed.py",
        "return min(1.0, max(share, COMPACT_LEAST_TOKENS / tokens, GROWN * self.left / tokens)) if tokens > 0 else 1.0",
        "0 -> 1",
        "of one token all stays",
    ),
    *(
        Argument(
            "hooks/utils/policy/losses.py",
            "_LEAST_CHARS = 400 # a text is not found faster for being shorter than this",
            change,
            "it is a round number",
        )
        for change in ("400 -> 401", "400 -> (399)")
    ),
    *(
        Argument(
            "hooks/utils/policy/masking/words.py",
            "around = line.words[max(0, number - 8) : number + 8]",
            change,
            "a word more or less is as near",
        )
        for change in ("8 -> 9", "8 -> (7)")
    ),
    Argument(
        "hooks/utils/policy/masking/words.py",
        "return texts[place - 1 :][:1] if place > 0 else texts[-1:]",
        "place > 0 -> (place >= 0)",
        "no function takes a secret at 0",
    ),
    *(
        Argument(
            "hooks/utils/policy/need_model.py",
            "return 1.0 / (1.0 + exp(-max(-30.0, min(30.0, total))))",
            change,
            "both are as good as sure",
        )
        for change in ("30.0 -> 31.0", "30.0 -> (29.0)")
    ),
    *(
        Argument(
            "hooks/utils/policy/own_lines.py",
            f"SIGNS = ({', '.join(map(_quoted, _SIGNS))})",
            f"{_quoted(sign)} -> ''",
            "what is looked for in vain is not found",
        )
        for sign in _SIGNS
    ),
    Argument("hooks/utils/policy/planning.py", "elif decision.value <= 0:", "0 -> (-1)", "it is the price of one token"),
    *(
        Argument(f"hooks/utils/policy/{module}.py", line, f"\"{mark}\" -> ''", "it spares the slow way, which ends alike")
        for module, line, marks in (
            ("classify", 'if lines is not None and "|" in command:', ("|",)),
            ("classify", r'if "\n" not in command:', (r"\n",)),
            (
                "commandline/brackets",
                r'elif words and not ("\x00" in token or ">" in token or "<" in token or "&" in token):',
                (r"\x00", ">", "<", "&"),
            ),
            ("commandline/brackets", 'elif "&" in token and len(pieces := parted(token)) > 1:', ("&",)),
            ("commandline/command", r'if "\x00" not in token:', (r"\x00",)),
            ("commandline/lookups", 'if "F" in letter_marks and pattern.replace(" ", "").replace("_", "").isalnum():', ("F",)),
            ("commandline/quoting", r'if "\\" not in text:', (r"\\",)),
            ("commandline/shell", r'if "\x00" in line:', (r"\x00",)),
            (
                "commandline/shell",
                'commands = None if "(" in text or ")" in text or ">|" in text else _listed(text, held)',
                ("(", ")", ">|"),
            ),
            (
                "commandline/shell",
                r"""if "\\" in line or "`" in line or "#" in line or "$(" in line or "${" in line or "$'" in line:""",
                (r"\\", "`", "#", "$(", "${", "$'"),
            ),
            ("commandline/shell", 'if "<<" in line or "((" in line or "<(" in line or ">(" in line:', ("<<", "((", "<(", ">(")),
            ("commandline/shell", """if "'" in line:""", ("'",)),
            ("commandline/shell", 'if "&" in word:', ("&",)),
            ("commandline/shell", 'if "&" in word and len(parted(word)) > 1:', ("&",)),
            ("commandline/shell", 'elif "&" in word:', ("&",)),
            ("door/failures", r'if "\x1b" not in text and "\r" not in text:', (r"\x1b", r"\r")),
            ("door/noise", r'if "\r" in plain:', (r"\r",)),
            (
                "door/noise",
                r'return " in a row]" in text and any(map(re.compile(_COUNT).fullmatch, text.split("\n")))',
                (" in a row]",),
            ),
            ("door/noise", r'if "\x1b" not in text:', (r"\x1b",)),
            ("globs", r'if "\\" in text or "\\" in pattern:', (r"\\",)),
            ("globs", 'if "?" not in pattern and "[" not in pattern:', ("?", "[")),
            (
                "masking/__init__",
                'if ("-u" in lowered or " -a " in lowered) and any(mark in lowered for mark in (":", "%", "-p", "lftp")):',
                ("-u", " -a "),
            ),
            (
                "masking/__init__",
                'users = [word.rpartition("@")[0] for word in lowered.split() if "@" in word] if "@" in lowered else ()',
                ("@",),
            ),
            (
                "masking/__init__",
                'return any(":" in user or "/" in user for user in users) or random_words.may_hold_random(text)',
                (":", "/"),
            ),
            ("needles", r'if "[" in pattern or "\\" in pattern or "/" in pattern:', ("[", r"\\", "/")),
            ("parts", 'if "/." in path or "//" in path or path[-1] == "/" or path[0] == ".":', ("/.", "//")),
            ("parts", 'if "$" not in text:', ("$",)),
            ("tools", r'if self.operation != WINDOWS_SHELL or "\\" not in line:', (r"\\",)),
        )
        for mark in marks
    ),
    Argument("hooks/utils/policy/commandline/shell.py", "double = '\"' in line", "'\"' -> ''", "as above"),
    Argument(
        "hooks/utils/policy/commandline/loops.py",
        """return "'" + "'".join("".join(line.split('"')[::2]).split("'")[1::2] + escaped)""",
        "\"\" -> 'mutant'",
        "it is looked through for a variable, and none begins there",
    ),
]
