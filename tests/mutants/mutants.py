"""The table of mutants: what is broken, how, and which tests are expected to notice.

Each `old` text occurs exactly once in its file (below `hooks/utils/policy`); where the code has moved on, the mutant moves with it.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    breaks: str
    """The rule that no longer holds, in words."""
    file: str
    old: str
    new: str
    tests: str
    """Names of test files in tests/policy, separated by blanks. Files of examples, not of laws: these need luck to notice."""


MUTANTS = [
    # Lifetimes.
    Mutant(
        "a result of call i that lives n calls ends when call i + n completes",
        "lifecycle.py",
        "state.due.setdefault(max(result.index + rule.ttl_calls, state.index + 1), {})",
        "state.due.setdefault(max(result.index + rule.ttl_calls + 1, state.index + 1), {})",
        "test_ttl.py",
    ),
    Mutant(
        "a search ends after 300 seconds, not after 301",
        "lifecycle.py",
        "if state.at - result.at >= seconds and",
        "if state.at - result.at > seconds and",
        "test_ttl.py",
    ),
    Mutant(
        "a profile scales every lifetime",
        "ruleset.py",
        '"aggressive": (1, 2)',
        '"aggressive": (2, 3)',
        "test_profiles.py",
    ),
    Mutant(
        "a shorter profile takes hold at once",
        "occasions.py",
        "if calls is not None and state.index >= result.index + calls and",
        "if calls is None and",
        "test_profiles.py",
    ),
    # Who may expire.
    Mutant(
        "what is pinned never expires",
        "lifecycle.py",
        'return not result.pinned and result.tier != "preserved"',
        'return result.tier != "preserved"',
        "test_pins.py",
    ),
    Mutant(
        "what is preserved never expires by itself",
        "lifecycle.py",
        'return not result.pinned and result.tier != "preserved"',
        "return not result.pinned",
        "test_edits.py test_supersession.py",
    ),
    Mutant(
        "a pin by pattern holds results too, not only one by id",
        "lifecycle.py",
        "rules.pinned_by(result.subjects, state.pins))",
        "rules.pinned_by(result.subjects, []))",
        "test_pins.py",
    ),
    Mutant(
        "a pin revives",
        "occasions.py",
        "held = [result for result in state.expired.values() if not result.cleared and lifecycle.is_pinned(state, result, rules)]",
        "held = []",
        "test_pins.py",
    ),
    Mutant(
        "unpinning lets a lifetime go on",
        "occasions.py",
        "[target for target in state.pins if target != event.target]",
        "state.pins",
        "test_pins.py",
    ),
    # Supersession.
    Mutant(
        "a newer run ends the earlier one even when it fails",
        "engine.py",
        'answers = not new.error or new.kind.startswith("run") or "supersede" in rules.tier_rule(new.tier).events',
        "answers = not new.error",
        "commandline/test_same_run.py",
    ),
    Mutant(
        "a failed run leaves its verdict in the reasons",
        "engine.py",
        "if old.verdict:",
        "if not old.verdict:",
        "commandline/test_same_run.py",
    ),
    Mutant(
        "npm t is npm test",
        "commandline/runs.py",
        'if name in ("t", "tst") and not spoken:',
        'if name == "tst" and not spoken:',
        "commandline/test_same_run.py",
    ),
    Mutant(
        "a partial run does not end a full one",
        "parts.py",
        "    if not old:\n        return False\n",
        "    if not old:\n        return True\n",
        "commandline/test_same_run.py",
    ),
    Mutant(
        "a folder holds what lies in it, not what begins with its name",
        "parts.py",
        'return root.endswith("/") or item[len(root) : len(root) + 1] in ("/", ":")',
        "return True",
        "test_supersession.py",
    ),
    Mutant(
        "overlapping reads live side by side",
        "parts.py",
        "return start <= old[0] and (end == 0 or 0 < old[1] <= end)",
        "return start <= old[1] and (end == 0 or old[0] <= end)",
        "commandline/test_partial_reads.py",
    ),
    Mutant(
        "the same content of the same kind ends the earlier",
        "engine.py",
        'state.by_hash.get(new.kind + "|" + new.hash, {})',
        'state.by_hash.get("", {})',
        "test_supersession.py",
    ),
    Mutant(
        "of task lists only the newest is kept, preserved ones too",
        "engine.py",
        'if old.pinned or (old.tier == "preserved" and old.kind != "tasks"):',
        'if old.pinned or old.tier == "preserved":',
        "test_supersession.py",
    ),
    # Errors and tiers.
    Mutant(
        "an error is ended by the later success of the same action",
        "engine.py",
        '"error:" + found.action',
        '"error" + found.action',
        "test_errors.py",
    ),
    Mutant(
        "a search that says something as it exits 1 has failed",
        "classify.py",
        "and outcome.exit_code == 1 and outcome.chars == 0",
        "and outcome.exit_code == 1",
        "test_errors.py",
    ),
    Mutant(
        "a search that exits 1 with no output is no error",
        "classify.py",
        "outcome.error and not _found_nothing(found, outcome)",
        "outcome.error",
        "test_errors.py",
    ),
    Mutant(
        "a failing run is not preserved: its next run ends it",
        "classify.py",
        'if tool in _SHELLS and found.tier == "session":',
        'if tool in _SHELLS and found.tier == "preserved":',
        "commandline/test_same_run.py",
    ),
    Mutant(
        "the bare words error and fail are no patterns on paths",
        "ruleset.py",
        "if p not in ERROR_WORDS and p != DECISION_WORD",
        "if p != DECISION_WORD",
        "test_errors.py",
    ),
    Mutant(
        "a decision of the user is preserved",
        "classify.py",
        "if rules.preserve_decisions:",
        "if not rules.preserve_decisions:",
        "test_tiers_of_results.py",
    ),
    Mutant(
        "an override by path pattern beats the plain tier of its tool",
        "ruleset.py",
        'for pattern, tier in _object(entry.get("patterns")).items():',
        "for pattern, tier in {}.items():",
        "test_tiers_of_results.py",
    ),
    Mutant(
        "a line that does several things has the longest-lived tier among them",
        "tiers.py",
        "return TIERS.index(tier) > TIERS.index(other)",
        "return False",
        "test_tiers_of_results.py",
    ),
    # Files.
    Mutant(
        "an edit that fails ends nothing",
        "classify.py",
        'found.edits = ""',
        "found.edits = found.edits",
        "test_edits.py",
    ),
    Mutant(
        "a commit that fails ends nothing",
        "classify.py",
        "found.commits = False",
        "found.commits = found.commits",
        "test_commits.py",
    ),
    Mutant(
        "a commit of no file at all ends nothing",
        "lifecycle.py",
        "if files is not None:",
        "if files:",
        "test_commits.py",
    ),
    Mutant(
        "where git cannot say, a commit ends medium results only",
        "lifecycle.py",
        'and "commit" in rules.tier_rule(result.tier).events',
        'and "commit" in rules.tier_rule("medium").events',
        "test_commits.py",
    ),
    Mutant(
        "a line that read two files lives until both are gone",
        "lifecycle.py",
        'if any(not part[0].startswith("search:") for part in left):',
        "if False:",
        "test_several_parts.py",
    ),
    Mutant(
        "a line that shows two things lives until both have come again",
        "engine.py",
        "if len(dead) < len(old.parts):",
        "if False:",
        "test_several_parts.py",
    ),
    # Touching.
    Mutant(
        "an edit touches the files that were read in the same turn, and no others",
        "engine.py",
        "if result.turn != state.turn:",
        "if False:",
        "test_touching.py",
    ),
    Mutant(
        "an answer that the file is unchanged touches the earlier read",
        "engine.py",
        '_touch_key(state, "read:" + found.subjects[0])',
        "pass",
        "commandline/test_partial_reads.py",
    ),
    # Endings.
    Mutant(
        "the end of a session ends only what the configuration says",
        "occasions.py",
        'and "session_end" in rules.tier_rule(result.tier).events:',
        'or "session_end" in rules.tier_rule(result.tier).events:',
        "test_endings.py",
    ),
    Mutant(
        "a clear by the user leaves what is pinned",
        "occasions.py",
        "if result is not None and not result.pinned:",
        "if result is not None:",
        "test_endings.py",
    ),
    Mutant(
        "a compaction leaves what the host carried over",
        "occasions.py",
        "for result in state.live.values() if result.id not in event.kept]",
        "for result in state.live.values()]",
        "test_endings.py",
    ),
    Mutant(
        "what was superseded is no false expiration",
        "lifecycle.py",
        '_CONTENT_STILL_TRUE = frozenset(("ttl_calls",',
        '_CONTENT_STILL_TRUE = frozenset(("superseded", "ttl_calls",',
        "test_endings.py",
    ),
    # Clearing.
    Mutant(
        "a clear never takes what is pinned",
        "selection.py",
        "        if result.pinned:\n            chosen.pinned.append(result)\n        elif",
        "        if",
        "test_selection.py",
    ),
    Mutant(
        "unasked, a clear takes nothing that lives",
        "selection.py",
        "return bool(result.pinned and asked.pattern and _matches(result, asked.pattern))",
        "return True",
        "test_selection.py",
    ),
    Mutant(
        "what was used lately is held back",
        "selection.py",
        "state.quiet_age(result) < grace(result, rules)",
        "state.quiet_age(result) < 0",
        "test_selection.py",
    ),
    Mutant(
        "a placeholder is never more than what it stands for",
        "selection.py",
        "(1 if asked.forces else LEAST_GAIN)",
        "(-9_999 if asked.forces else LEAST_GAIN)",
        "test_selection.py",
    ),
    Mutant(
        "a placeholder is at most so long, whatever its label",
        "placeholder.py",
        "label[: room - 1]",
        "label[:room]",
        "test_placeholder.py",
    ),
    Mutant(
        "an undo makes live only what the clear had ended",
        "occasions.py",
        'if result.ended[0] == "manual"], rules, "undone"',
        'if result.ended], rules, "undone"',
        "test_clearing.py",
    ),
    Mutant(
        "what a hold kept beyond its calls ends with it",
        "engine.py",
        "if calls is not None and state.index >= result.index + calls:",
        "if calls is None:",
        "test_clearing.py",
    ),
    Mutant(
        "a clear pays only within the requests that are likely to follow",
        "economics.py",
        "sum.pays_after <= likely_requests",
        "sum.pays_after <= likely_requests + 1",
        "test_economics.py",
    ),
    Mutant(
        "a clear counts only where at least half of it is missing from a prompt",
        "ledger.py",
        "if cleared and cleared > 2 * can_be_gone:",
        "if False:",
        "test_ledger.py",
    ),
    Mutant(
        "the rewrite of the cache is charged",
        "ledger.py",
        'self.ledger.charged["rewrite"] += beyond * (',
        'self.ledger.charged["rewrite"] += 0 * (',
        "test_ledger.py",
    ),
    Mutant(
        "a compaction ends what a clear saves",
        "ledger.py",
        "self.out = 0.0 ",
        'self.out = getattr(self, "out", 0.0) ',
        "test_ledger.py",
    ),
    # Weighing.
    Mutant(
        "under auto it is told what a pin holds",
        "selection.py",
        "if result.ended or asked.pattern:",
        "if False:",
        "test_weighing.py",
    ),
    Mutant(
        "under auto nothing goes unasked that is preserved",
        "auto.py",
        'if result.pinned or result.cleared or (result.tier == "preserved" and result.ended is None):',
        "if result.pinned or result.cleared:",
        "test_weighing.py",
    ),
    Mutant(
        "under auto now takes beside what is worth it only what has expired",
        "selection.py",
        "(asked.now and result.ended and result.id in prefixes)",
        "(asked.now and result.id in prefixes)",
        "test_weighing.py",
    ),
    Mutant(
        "under auto nothing goes that the model has not seen",
        "selection.py",
        "if result.id in prefixes and auto.may_go(result, state)]",
        "if auto.may_go(result, state)]",
        "test_weighing.py",
    ),
    Mutant(
        "under auto what the last calls used stays",
        "auto.py",
        "return state.quiet_age(result) >= LEAST_QUIET",
        "return True",
        "test_weighing.py",
    ),
    Mutant(
        "under auto what stands before the place where it pays to begin stays",
        "selection.py",
        "for candidate in worth or auto.worth_more_gone(candidates, situation)",
        "for candidate in auto.worth_more_gone(candidates, situation)",
        "test_weighing.py",
    ),
    Mutant(
        "under auto a path speaks of what is of it alone",
        "selection.py",
        "if result.cleared or (asked.pattern and not _matches(result, asked.pattern)):",
        "if result.cleared:",
        "test_weighing.py",
    ),
    Mutant(
        "an outline is counted before it is written",
        "selection.py",
        "kept = most_tokens(round(result.tokens * calibration)) if rules.weighs else 0",
        "kept = 0",
        "test_weighing.py",
    ),
    Mutant(
        "an outline is at most a tenth",
        "outline.py",
        "        if room < 0:",
        "        if room < -50:",
        "test_outline.py",
    ),
    Mutant(
        "no key stays in an outline",
        "outline.py",
        're.sub(KEYS, " ", text)',
        "text",
        "test_outline.py",
    ),
    Mutant(
        "only names on one line may stand behind a placeholder",
        "placeholder.py",
        " or not CHARS.issuperset(outline)",
        "",
        "test_placeholder.py",
    ),
    # Bookkeeping.
    Mutant(
        "an id is never live and expired at once",
        "engine.py",
        "state.expired.pop(id, None)",
        "pass",
        "test_identities.py",
    ),
    Mutant(
        "the counts agree with the decisions",
        "lifecycle.py",
        "counts.superseded += 1",
        "counts.superseded = 1",
        "test_identities.py",
    ),
    Mutant(
        "a state that is loaded knows the folder that it was saved in",
        "context.py",
        'for name in ("prompt_id", "profile", "cwd"):',
        'for name in ("prompt_id", "profile"):',
        "test_identities.py",
    ),
    Mutant(
        "grep output is 1.9 characters a token",
        "estimate.py",
        '"matches": 1.9',
        '"matches": 2.9',
        "test_estimates.py",
    ),
]
