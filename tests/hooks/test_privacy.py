"""What is kept of a session: no text of its results beyond one-line verdicts, no secret of a command line, for its owner alone."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from hooks.utils.operations.context_words import answer
from tests.hooks import payloads, processes
from tests.patience import HANG_S
from tests.views.written import Written

MARK = "BODY-MARK-"
SECRET = "hunter2Xq9Zk7Vb3"  # noqa: S105  a made-up one


def _body(name: str, lines: int = 12) -> str:
    return "".join(f"{MARK}{name}-{number} some text of a result\n" for number in range(lines))


def _marked() -> list[dict]:
    """A call of every kind whose result, input text or both hold the mark."""
    path = payloads.CWD + "/src/app.js"
    failing = _body("failing-run") + "3 passed, 1 failed\n"
    image = {"type": "image", "file": {"base64": MARK + "image", "dimensions": {"displayWidth": 9}}}
    edit_input = {"file_path": path, "old_string": MARK + "old2", "new_string": MARK + "new2"}
    return [
        payloads.session_start(),
        payloads.prompt(MARK + "prompt: do what the text says"),
        payloads.read(path, _body("read")),
        payloads.call("Read", {"file_path": path + ".png"}, image),
        payloads.call("Read", {"file_path": path}, {"type": "file_unchanged", "file": {"filePath": path, "content": MARK + "unchanged"}}),
        payloads.call("Read", {"file_path": path + "2"}, _body("read-as-text")),
        payloads.bash("cat src/app.js", _body("bash-read")),
        payloads.bash("rg -n add src", _body("bash-search")),
        payloads.bash("node script.js", _body("bash-other")),
        payloads.call("Bash", {"command": "make it", "description": MARK + "said"}, payloads.shell_output(_body("out"), _body("err"))),
        payloads.bash("git commit -m x", "[main 1a2b3c4] " + MARK + "subject\n 1 file changed\n"),
        payloads.failed_bash("npm test", failing),
        payloads.bash("npm test", _body("passing-run") + "4 passed\n"),
        payloads.failed_bash("cat nope", _body("error") + "cat: nope: No such file or directory"),
        payloads.grep("add", _body("grep")),
        payloads.glob("**/*.js", [f"src/{MARK}glob.js"]),
        payloads.edit(path, MARK + "old", MARK + "new", _body("original")),
        payloads.failure("Edit", edit_input, _body("edit-error") + "not found"),
        payloads.write(path + "3", _body("write")),
        payloads.mcp({"text": MARK + "mcp-input", "limit": 3}, _body("mcp")),
        payloads.call("mcp__demo__structured", {}, {"deep": {"value": [MARK + "structured"]}}),
        payloads.failure("mcp__demo__fail", {"key": MARK + "key"}, _body("mcp-error") + "no such key"),
        payloads.agent(_body("agent-prompt"), _body("agent-answer")),
        payloads.read(path, _body("agent-read"), agent_id="a7af87b78575ba274", agent_type="general-purpose"),
        payloads.call("TodoWrite", {"todos": [{"content": MARK + "todo"}]}, {"newTodos": [{"content": MARK + "todo"}]}),
        payloads.call("TaskCreate", {"subject": "t", "description": "d"}, {"task": {"id": "1", "subject": MARK + "task"}}),
        payloads.call("AskUserQuestion", {"questions": [{"question": MARK + "question"}]}, {"answers": {"q": MARK + "answer"}}),
        payloads.call("ExitPlanMode", {"plan": _body("plan")}, {"plan": _body("plan"), "isAgent": False}),
        payloads.call("WebFetch", {"url": "https://example.invalid/", "prompt": MARK + "ask"}, {"code": 200, "result": _body("page")}),
        payloads.call("WebSearch", {"query": "words"}, {"results": [MARK + "found"]}),
        payloads.call("NotebookEdit", {"notebook_path": path + ".ipynb", "new_source": _body("cell")}, {"new_source": _body("cell")}),
        payloads.call("SomethingNew", {"text": _body("new-input")}, {"text": _body("new")}),
        payloads.call("SomethingNew", {}, [_body("list"), {"type": "text", "text": _body("block")}, 7]),
        payloads.stop(last_assistant_message=_body("message")),
        payloads.pre_compact(custom_instructions=MARK + "instructions"),
        payloads.session_start("compact"),
        payloads.session_end(),
    ]  # fmt: skip


def _kept(home: processes.Home) -> dict[str, str]:
    """Everything that is kept: names of files and their text."""
    found = {str(path.relative_to(home.path)): path.read_bytes().decode("utf-8", "replace") for path in home.files()}
    return {name: name + "\n" + text for name, text in found.items()}


def _holding(home: processes.Home, what: str) -> dict[str, str]:
    found = {}
    for name, text in _kept(home).items():
        at = text.lower().find(what.lower())
        if at >= 0:
            found[name] = text[max(0, at - 120) : at + 120]
    return found


def test_no_text_of_a_result_is_kept(home: processes.Home):
    given = _marked()
    for payload in given:
        assert processes.run_event(payload, home.env()).silent
    assert home.failures() == []
    assert home.state(payloads.SESSION).counts.results, "the calls were recorded"
    assert _holding(home, MARK) == {}


# What holds contents on purpose: the archive, and the transcript as it was before its last change.
KEEPERS = ("archive.sqlite", "original.jsonl")


def _in_no_keeper(home: processes.Home) -> list[str]:
    return [name for name in _holding(home, MARK) if not Path(name).name.startswith(KEEPERS)]


def test_a_clear_puts_contents_into_the_archive_and_nowhere_else(home: processes.Home, tmp_path: Path):
    written = Written(tmp_path / "projects")
    written.say("go on")
    for number in range(3):
        written.bash("npm test", _body(f"run{number}", 60) + f"{number} passed\n")
    site, path = written.site(home.path), str(written.path)
    assert "Dry run" in answer("clear --dry-run", site, path, written.now)
    assert _holding(home, MARK) == {}
    assert "/resume" in answer("clear --now", site, path, written.now)
    assert (home.path / "archive.sqlite").exists()
    for line in ("restore T1", "retention --details", "why T1", "stats", "undo"):
        answer(line, site, path, written.now)
    assert _in_no_keeper(home) == []
    assert {stat.S_IMODE(kept.stat().st_mode) for kept in home.files()} == {0o600}


def test_a_compaction_puts_contents_into_the_archive_and_nowhere_else(home: processes.Home, tmp_path: Path):
    written = Written(tmp_path / "projects")
    written.say("go on")
    for number in range(3):
        written.bash("npm test", _body(f"run{number}", 60) + f"{number} passed\n")
    common = {"session_id": written.session, "transcript_path": str(written.path), "cwd": written.project}
    for payload in (payloads.pre_compact(**common), payloads.session_start("compact", **common)):
        assert processes.run_event(payload, home.env(POPKIT_CLOCK=str(written.now))).code == 0
    assert home.failures() == []
    assert (home.path / "archive.sqlite").exists()
    assert _in_no_keeper(home) == []


def test_of_an_error_nothing_but_a_verdict_of_one_line_is_kept(home: processes.Home):
    error = "".join(f"error: {MARK}{number} {'x' * 200}\n" for number in range(50))
    for payload in (payloads.failed_bash("npm test", error), payloads.failure("mcp__demo__fail", {"key": "k"}, error)):
        assert processes.run_event(payload, home.env()).silent
    state = home.state(payloads.SESSION)
    for result in state.live.values():
        assert len(result.verdict) <= 120
        assert "\n" not in result.verdict
    kept = "".join(_kept(home).values())
    assert kept.count(MARK) <= len(state.live), "one line of each"


def test_a_hook_that_fails_logs_no_text_of_its_payload(home: processes.Home):
    # The engine is given something that it cannot work on: the state says so and the hook fails inside its work.
    assert processes.run_event(payloads.read("/a.py", "x\n"), home.env()).silent
    state = Path(home.paths(payloads.SESSION).state)
    state.write_text(state.read_text().replace('[["read:/a.py",[1,0]]]', "[7]"))
    broken = [
        (MARK + "no json").encode(),
        payloads.read(f"/{MARK}path.py", _body("read")),
        payloads.bash(f"echo {MARK}command --password {SECRET}", _body("out")),
    ]
    for payload in broken:
        ran = processes.run("post-tool-use", payload, home.env())
        assert ran.silent
    assert len(home.failures()) >= 2
    log = (home.path / "hooks.log").read_text()
    assert MARK not in log
    assert SECRET not in log


# --- secrets -------------------------------------------------------------------------------------------------------------------

COMMANDS = [
    "TOKEN={0} npm test",
    "export GITHUB_TOKEN={0}",
    "export API_KEY='{0}' && node x.js",
    'PGPASSWORD="{0}" psql -h db -U bob',
    "MYSQL_PWD={0} mysql -u root",
    "DB_PASS={0} ./migrate",
    "env SECRET_KEY_BASE={0} rails c",
    "STRIPE_KEY={0} node pay.js",
    "docker run -e POSTGRES_PASSWORD={0} postgres",
    "docker run -e 'POSTGRES_PASSWORD={0}' postgres",
    "curl --password {0} https://example.invalid",
    "tool --password={0} --verbose",
    "tool --password='{0}'",
    "tool --api-key {0}",
    "tool --token {0} | tee log",
    "java -Dpassword={0} -jar x.jar",
    "keytool -storepass {0} -list",
    "mysql -uroot -p{0} shop",
    "mysqldump -u root -p{0} shop > dump.sql",
    "sshpass -p {0} ssh host",
    "sshpass -p'{0}' ssh host",
    "redis-cli -h db -a {0} ping",
    "docker login -u bob -p {0} registry.invalid",
    "mongosh --username bob --password {0}",
    "mongodump -u bob -p {0}",
    "unzip -P {0} a.zip",
    "ldapsearch -D cn=bob -w {0} -b dc=x",
    "openssl enc -aes256 -pass pass:{0} -in a",
    "openssl rsa -passin pass:{0} -in key.pem",
    "gpg --passphrase {0} -d a.gpg",
    "curl -H 'Authorization: Bearer {0}' https://example.invalid",
    'curl -H "Authorization: Bearer {0}" https://example.invalid',
    "curl -H 'authorization: token {0}' https://example.invalid",
    "curl -H 'Authorization: Basic {0}' https://example.invalid",
    "curl -H 'Authorization: ApiKey id={0}' https://example.invalid",
    "curl -H 'Authorization: {0}' https://example.invalid",
    "curl -H 'X-Api-Key: {0}' https://example.invalid",
    "curl -H 'Cookie: session={0}; other=1' https://example.invalid",
    "curl -b 'session={0}' https://example.invalid",
    "curl --cookie sid={0} https://example.invalid",
    "http POST example.invalid Authorization:{0}",
    "curl -u bob:{0} https://example.invalid",
    "curl -u 'bob:{0}' https://example.invalid",
    "curl -ubob:{0} https://example.invalid",
    "curl --user bob:{0} https://example.invalid",
    "curl --proxy-user=bob:{0} https://example.invalid",
    "git clone https://bob:{0}@example.invalid/x.git",
    "git clone https://{0}abcdef@example.invalid/x.git",
    "git remote set-url origin https://oauth2:{0}@example.invalid/x",
    "psql postgres://bob:{0}@db:5432/shop",
    "psql 'postgresql://bob:{0}@db/shop?sslmode=require'",
    "redis-cli -u redis://:{0}@db:6379",
    "curl 'https://example.invalid/?token={0}&x=1'",
    "curl 'https://example.invalid/?x=1&access_token={0}'",
    "curl 'https://example.invalid/?api_key={0}'",
    "curl 'https://maps.invalid/js?key={0}'",
    "curl 'https://blob.invalid/x?sv=1&sig={0}&se=2'",
    "curl 'https://s3.invalid/x?X-Amz-Signature={0}'",
    """curl -d '{{"password":"{0}"}}' https://example.invalid""",
    """curl -d '{{"user": "bob", "client_secret" : "{0}"}}' https://example.invalid""",
    """curl -d "{{\\"apiKey\\":\\"{0}\\"}}" https://example.invalid""",
    "curl -d 'user=bob&password={0}' https://example.invalid",
    "curl -F secret={0} https://example.invalid",
    "aws configure set aws_secret_access_key {0}",
    "AWS_SECRET_ACCESS_KEY={0} aws s3 ls",
    "npm config set //registry.npmjs.org/:_authToken={0}",
    "npm config set //registry.npmjs.org/:_authToken {0}",
    "gh secret set TOKEN --body {0}",
    "gh secret set TOKEN -b'{0}'",
    "kubectl create secret generic x --from-literal=password={0}",
    "vault kv put secret/x password={0}",
    "echo 'password: {0}' > config.yml",
    "cat <<EOF > .env\nAPI_TOKEN={0}\nEOF",
    "cat > .env <<'EOF'\nDB_PASSWORD=\"{0}\"\nEOF",
    'bash -lc "TOKEN={0} npm test"',
    "bash -c 'export TOKEN={0}' && npm test",
    "ssh host 'PASSWORD={0} ./run'",
    "cd app && TOKEN={0} npm test | tail -5",
    "timeout 60 env TOKEN={0} npx jest",
    "PASSWORD='part of {0}' ./run",
    'PASSPHRASE="correct {0} staple" ./run',
    "TOKEN='a'{0}'b' ./run",
    "echo -n token:{0} | base64",
    "rg 'password={0}' src",
    "python -c \"login(password='{0}')\"",
    "terraform apply -var db_password={0}",
    "ansible-playbook x.yml -e 'ansible_password={0}'",
    "sqlcmd -S db -U sa -P {0}",
    "7z x -p{0} a.7z",
    "echo 'machine x.invalid login bob password {0}' >> ~/.netrc",
    # what is written into a program
    "echo {0} | docker login -u bob --password-stdin registry.invalid",
    "echo '{0}' | gh auth login --with-token",
    "printf '%s' {0} | vault kv put secret/x value=-",
    "echo bob:{0} | sudo chpasswd",
    "sudo -S apt update <<< {0}",
    "echo {0} > ~/.vault_pass",
    # SQL
    "psql -c \"ALTER USER bob WITH PASSWORD '{0}'\"",
    "mysql -e \"CREATE USER 'bob'@'%' IDENTIFIED BY '{0}'\"",
    "mysql -e \"ALTER USER bob IDENTIFIED WITH plugin BY '{0}'\"",
    # options and words of programs
    "az keyvault secret set --name x --value {0}",
    "aws secretsmanager create-secret --name x --secret-string {0}",
    "kubectl create secret generic x --from-literal=db={0}",
    "kubectl create secret generic x --from-literal db={0}",
    "vault kv put secret/app db={0}",
    "fly secrets set DB={0} -a app",
    "doppler secrets set DB {0}",
    "vault login {0}",
    "cargo login {0}",
    "openssl enc -aes-256-cbc -k {0} -in a",
    "sqlplus scott/{0}@orcl",
    "expdp system/{0}@db full=y",
    "cypher-shell -u neo4j -p {0} 'RETURN 1'",
    "xfreerdp /u:bob /p:{0} /v:host",
    "smbclient //h/s -U bob%{0}",
    # code
    "python -c \"import os; os.environ['API_KEY'] = '{0}'\"",
    "node -e \"process.env.API_TOKEN = '{0}'\"",
    "python -c \"requests.get(u, auth=('bob', '{0}'))\"",
    "mongosh --eval 'db.createUser({{user: \"bob\", pwd: \"{0}\"}})'",
]  # fmt: skip
# Where nothing but its own look tells that it is a secret.
BY_LOOK = [
    # addresses
    "curl -X POST https://hooks.slack.com/services/T024BE7LD/B024BE7LE/{0}",
    "curl https://discord.com/api/webhooks/123456789012345678/{0}",
    "curl https://api.telegram.org/bot123456789:AA{0}/sendMessage",
    "curl https://example.invalid/reset-password/{0}",
    "curl https://example.invalid/v1/{0}/items",
    # nothing but the secret itself
    "rg {0} src",
    "git log -S {0}",
    "tool -k {0}",
    "tool -p={0}",
]
# Secrets that are known by their own form, whatever stands around them.
KNOWN = [
    "ghp_" + "a1B2" * 9,
    "gho_" + "a1B2" * 9,
    "ghs_" + "a1B2" * 9,
    "github_pat_" + "11ABCDEFG0" * 5,
    "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "sk-" + "a1B2c3D4" * 5,
    "sk-ant-api03-" + "a1B2c3D4" * 5,
    "sk-proj-" + "a1B2c3D4" * 5,
    "sk_live_" + "a1B2c3D4" * 3,
    "rk_test_" + "a1B2c3D4" * 3,
    "whsec_" + "a1B2c3D4" * 3,
    "xoxb-" + "123456789012-1234567890123-a1B2c3D4e5F6",
    "xapp-" + "1-A0123-456-a1B2c3D4",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ASIA" + "IOSFODNN7EXAMPLE",
    "AIza" + "SyA1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q",
    "ya29." + "a0AfH6SMBx1y2z3",
    "npm_" + "a1B2c3D4" * 4,
    "pypi-" + "AgEIcHlwaS5vcmc" * 3,
    "hf_" + "a1B2c3D4" * 4,
    "dckr_pat_" + "a1B2c3D4" * 3,
    "shpat_" + "a1b2c3d4" * 4,
    "hvs." + "a1B2c3D4" * 4,
    "gsk_" + "a1B2c3D4" * 4,
    "SG." + "a1B2c3D4e5F6g7H8i9J0k1" + "." + "Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4J3h2G1f0E9d",
    "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0" * 3,
    "dop_v1_" + "a1b2c3d4" * 8,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
]


def _calls_with(command: str) -> list[dict]:
    """The same command line as a success, a failure, and one that is long."""
    return [
        payloads.bash(command, "done"),
        payloads.failed_bash(command, "it failed", 2),
        payloads.bash(command + " && " + "echo something quite long && " * 30 + "true"),
        payloads.bash("cd src && " + command),
    ]


def _handle_all(home: processes.Home, given: list[dict]) -> None:
    """Tell the hooks' handlers of all payloads, one after the other."""
    for payload in given:
        assert processes.HANDLERS[processes.SCRIPTS[payload["hook_event_name"]]](payload, home.env()) is None


def test_no_secret_of_a_command_line_is_kept(home: processes.Home):
    given = [call for command in COMMANDS + BY_LOOK for call in _calls_with(command.format(SECRET))]
    _handle_all(home, given)
    assert home.failures() == []
    assert home.state(payloads.SESSION).index == len(given)
    assert _holding(home, SECRET) == {}


def test_no_token_of_a_known_form_is_kept(home: processes.Home):
    places = [
        "echo {0}",
        "curl https://example.invalid/{0}",
        "git push https://{0}@example.invalid/x",
        "x='{0}'; y",
        "rg {0} src",
        "tool {0} --flag",
    ]
    given = [payloads.bash(place.format(token)) for token in KNOWN for place in places]
    given += [payloads.grep(token, "found") for token in KNOWN]
    given += [payloads.failed_bash("npm test", f"1 failed: bad token {token}") for token in KNOWN]
    _handle_all(home, given)
    assert [token for token in KNOWN if _holding(home, token)] == []


OTHERS = [
    payloads.grep(f"password={SECRET}", "x"),
    payloads.glob(f"**/token={SECRET}/*", ["x"]),
    payloads.call("WebFetch", {"url": f"https://example.invalid/?token={SECRET}", "prompt": "read it"}, {"code": 200, "result": "x"}),
    payloads.call("WebFetch", {"url": f"https://bob:{SECRET}@example.invalid/", "prompt": "read it"}, {"code": 200, "result": "x"}),
    payloads.call("WebSearch", {"query": f"what is api_key={SECRET}"}, {"results": []}),
    payloads.mcp({"password": SECRET, "query": f"select 1 -- password={SECRET}"}, "x"),
    payloads.mcp({"key": SECRET, "headers": {"Authorization": "Bearer " + SECRET}}, "x"),
    payloads.failure("mcp__demo__fail", {"token": SECRET}, f"error: 401 for token={SECRET}"),
    payloads.call(
        "Agent", {"description": f"use --password {SECRET}", "prompt": f"use {SECRET}"}, {"content": [{"type": "text", "text": "x"}]}
    ),
    payloads.call("TaskCreate", {"subject": f"rotate token={SECRET}", "description": f"the password: {SECRET}"}, {"task": {"id": "1"}}),
    payloads.call("Skill", {"skill": f"deploy --token {SECRET}"}, "done"),
    payloads.failed_bash("npm test", f"Error: connect to postgres://bob:{SECRET}@db failed"),
    payloads.failed_bash("npm test", f"1 failed: Authorization: Bearer {SECRET}"),
    payloads.failed_bash("./deploy", f"{'x' * 70} error: https://bob:{SECRET}@example.invalid/{'y' * 300}"),
    payloads.grep(SECRET, "found"),
    payloads.read(f"/srv/token={SECRET}/a.py", "x"),
    payloads.edit(f"/srv/token={SECRET}/a.py", "x", "y", "x"),
    payloads.call("WebFetch", {"url": f"https://example.invalid/invite/{SECRET}", "prompt": "read it"}, {"code": 200, "result": "x"}),
    payloads.failed_bash("npm test", f"1 failed: invalid token {SECRET}"),
    payloads.failed_bash("npm test", f"Error: Incorrect API key provided: {SECRET}."),
    payloads.failed_bash("npm test", f"error: '{SECRET}' is not a valid token"),
    payloads.failure("mcp__demo__fail", {"id": 1}, f"error: password '{SECRET}' rejected"),
    payloads.failed_bash("gpg -d a", f"-----BEGIN PGP PRIVATE KEY BLOCK-----  {SECRET}  error"),
    payloads.prompt(f"my password is {SECRET}, token={SECRET}"),
]


def test_no_secret_of_another_input_or_verdict_is_kept(home: processes.Home):
    _handle_all(home, OTHERS)
    assert home.failures() == []
    assert home.state(payloads.SESSION).index == len(OTHERS) - 1, "all but the prompt"
    assert _holding(home, SECRET) == {}


def test_a_secret_across_the_place_where_a_text_is_cut_is_not_kept_in_part(home: processes.Home):
    given = []
    for pad in range(60, 130, 3):
        given.append(payloads.bash("echo " + "x" * pad + f" TOKEN={SECRET} y"))
        given.append(payloads.bash("echo " + "x" * (pad + 290) + f" --password {SECRET} y"))
        given.append(payloads.failed_bash("npm test", f"1 failed {'x' * (pad - 30)} https://bob:{SECRET}@example.invalid/x"))
    _handle_all(home, given)
    assert _holding(home, SECRET[:9]) == {}


# --- modes ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", ["022", "000", "077"])
def test_files_and_folders_are_for_their_owner_alone(tmp_path: Path, umask: str):
    home = processes.Home(tmp_path / "config" / "deep")
    for payload in [*payloads.one_of_each_event(), b"broken"]:
        event = payload["hook_event_name"] if isinstance(payload, dict) else "PostToolUse"
        argv = ["sh", "-c", f'umask {umask} && exec sh -c "$0"', processes.command_of(event)]
        env = home.env(CLAUDE_PLUGIN_ROOT=str(processes.ROOT))
        done = subprocess.run(argv, input=processes.data_of(payload), capture_output=True, env=env, timeout=HANG_S, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
    modes = {str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in [home.path, *home.path.rglob("*")]}
    assert {name: oct(mode) for name, mode in modes.items() if mode != (0o700 if (tmp_path / name).is_dir() else 0o600)} == {}
    kept = "hooks.log interpreter main.state.json main.journal.jsonl session.json sessions"
    assert {Path(name).name for name in modes} >= {*kept.split()}
    assert stat.S_IMODE((tmp_path / "config").stat().st_mode) == 0o700, "parents that we make are private too"


def test_what_the_user_made_wider_stays_as_the_user_made_it(home: processes.Home):
    home.path.mkdir(mode=0o755)
    home.path.chmod(0o755)
    assert processes.run("post-tool-use", payloads.bash("mkdir a"), home.env()).silent
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o755
    assert stat.S_IMODE((home.path / "sessions").stat().st_mode) == 0o700
    assert os.access(home.paths(payloads.SESSION).state, os.R_OK)
