"""Arguments for mutants of policy/ that survive."""

from __future__ import annotations

from .argument import Argument

_SIGNS = ("popkit restore ", " as in your ", " as in the input of your ", " in a row]", " lines]", " line]", "[part of this result")


def _quoted(text: str) -> str:
    return f'"{text}"'


ARGUMENTS = [
    *(
        Argument(
            "hooks/utils/policy/left_names.py", "_CALLS = 128", change, "names that only the oldest call of so many holds are worth little"
        )
        for change in ("128 -> 129", "128 -> (127)")
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
