"""Records the session that `popkit try` shows where there is none: the real client, a small shop project, a scripted model.

    python -m tests.client.record_sample FOLDER

FOLDER becomes the home of an imaginary developer (its path stands in the recording; use a neutral one). Lines that hold the client's
own prompts, and the markers in ours, are left out: of the conversation itself nothing is changed.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from . import installs
from .client import ClientHome
from .scripted_api import ScriptedApi, call, say

SAMPLE = Path(__file__).resolve().parents[2] / "power-mode/popkit_retention/cli/sample-session.jsonl"
KEPT_TYPES = ("user", "assistant", "system")
AUTH = """import { createHash, timingSafeEqual } from 'node:crypto';
import { config } from './config.js';
import { findUser, rememberFailure, failuresOf } from './users.js';

export class LoginError extends Error {
  constructor(reason) {
    super(`login refused: ${reason}`);
    this.reason = reason;
  }
}

function digest(password, salt) {
  return createHash('sha256').update(salt + password).digest();
}

/** Checks a user's password; refuses after too many failures in a row. */
export function login(name, password, now = Date.now()) {
  const user = findUser(name);
  if (!user) throw new LoginError('unknown user');
  const failures = failuresOf(name, now - config.failureWindow);
  if (failures > config.maxFailures) throw new LoginError('too many failures');
  if (!timingSafeEqual(digest(password, user.salt), user.digest)) {
    rememberFailure(name, now);
    throw new LoginError('wrong password');
  }
  return { name, expires: now + config.sessionLength };
}
"""
USERS = """const users = new Map();
const failures = new Map();

export function addUser(name, salt, digest) {
  users.set(name, { salt, digest });
}

export function findUser(name) {
  return users.get(name);
}

export function rememberFailure(name, at) {
  failures.set(name, [...(failures.get(name) ?? []), at]);
}

export function failuresOf(name, since) {
  return (failures.get(name) ?? []).filter((at) => at >= since).length;
}
"""
TEST = """import assert from 'node:assert';
import { createHash } from 'node:crypto';
import { addUser } from './src/users.js';
import { login } from './src/auth.js';

const digest = createHash('sha256').update('salt' + 'secret').digest();
addUser('ann', 'salt', digest);
let passed = 0;
const check = (what, fn) => {
  try {
    fn();
    passed += 1;
    console.log('ok   ' + what);
  } catch (error) {
    console.log('FAIL ' + what + ': ' + error.message);
  }
};
check('a right password opens a session', () => assert.equal(login('ann', 'secret', 1000).name, 'ann'));
check('an unknown user is refused', () => assert.throws(() => login('bob', 'x', 1000), /unknown user/));
for (let i = 0; i < 3; i += 1) {
  check('wrong password ' + i, () => assert.throws(() => login('ann', 'no', 2000 + i), /wrong password/));
}
check('the fourth failure locks', () => assert.throws(() => login('ann', 'no', 3000), /too many failures/));
console.log(passed + ' of 6 passed');
process.exit(passed === 6 ? 0 : 1);
"""
FILES = {
    "package.json": '{"name": "shop", "type": "module", "scripts": {"test": "node test.js", "build": "node build.js"}}\n',
    "src/auth.js": AUTH,
    "src/users.js": USERS,
    "src/config.js": "export const config = {\n  maxFailures: 3,\n  failureWindow: 900_000,\n  sessionLength: 28_800_000,\n};\n",
    "test.js": TEST,
    "build.js": "console.log('built 3 modules in 12 ms');\n",
    "README.md": "# shop\n\nA small shop: users, log-in, a basket.\n",
}
FIX = {"file_path": "{work}/src/auth.js", "old_string": "failures > config", "new_string": "failures >= config"}
SCRIPT = [
    call(("Read", {"file_path": "{work}/src/auth.js"}), ("Bash", {"command": "grep -rn failures src"}), text="I look at the log-in first."),
    call(("Read", {"file_path": "{work}/src/config.js"})),
    call(("Bash", {"command": "npm test"}), text="Let me see it fail."),
    call(("Edit", FIX), text="The comparison is off by one."),
    call(("Bash", {"command": "grep -rn failures src"})),
    call(("Bash", {"command": "npm test"})),
    call(("Bash", {"command": "cat src/users.js"}), ("Read", {"file_path": "{work}/test.js", "offset": 1, "limit": 12})),
    say("The lock now comes with the third failure; all tests pass."),
]
SECOND = [
    call(("Bash", {"command": "git status --short"})),
    call(("Bash", {"command": "git add -A && git commit -m 'auth: lock after the third failure'"})),
    call(("Bash", {"command": "npm run build"})),
    call(("Read", {"file_path": "{work}/docs/deploy.md"}), text="Is there anything about deploying?"),
    call(("Bash", {"command": "ls -la && find . -name '*.md' -not -path './.git/*'"})),
    call(("Read", {"file_path": "{work}/README.md"})),
    call(("Bash", {"command": "npm run build"})),
    say("Committed and built. There is no deploy.md."),
]


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    with ScriptedApi({"lock": SCRIPT, "ship": SECOND}) as api:
        home = ClientHome(root, installs.install(installs.newest_version()), api.url)
        for name, text in FILES.items():
            (home.work / name).parent.mkdir(parents=True, exist_ok=True)
            (home.work / name).write_text(text)
        api.places["work"] = str(home.work)
        for who in ("AUTHOR", "COMMITTER"):
            home.extra_env |= {f"GIT_{who}_NAME": "dev", f"GIT_{who}_EMAIL": "dev@example.invalid"}
        run = home.run_headless(["The log-in should lock after three failures. [[SCRIPT:lock]]", "Commit it and build. [[SCRIPT:ship]]"])
        lines = [entry for entry in home.transcript(run.session_id) if entry.get("type") in KEPT_TYPES]
    SAMPLE.parent.mkdir(exist_ok=True)
    text = "".join(json.dumps(relinked, ensure_ascii=False) + "\n" for relinked in without_gaps(lines, home, run.session_id))
    SAMPLE.write_text(re.sub(r" \[\[SCRIPT:\w+\]\]", "", text))
    print(f"{len(lines)} lines, {SAMPLE.stat().st_size:,} bytes")
    return 0


def without_gaps(lines: list, home: ClientHome, session_id: str) -> list:
    """The lines with each parent that was left out replaced by the nearest ancestor that stayed."""
    parents = {entry["uuid"]: entry.get("parentUuid") for entry in home.transcript(session_id) if entry.get("uuid")}
    kept = {entry["uuid"] for entry in lines if entry.get("uuid")}
    for entry in lines:
        parent = entry.get("parentUuid")
        while parent is not None and parent not in kept:
            parent = parents.get(parent)
        entry["parentUuid"] = parent
    return lines


if __name__ == "__main__":
    raise SystemExit(main())
