"""No secret is kept: of no command line, no other input, no verdict."""

from __future__ import annotations

from tests.hooks import payloads, processes
from tests.hooks.secret_lines import BY_LOOK, COMMANDS, KNOWN, SECRET


def _calls_with(command: str) -> list[dict]:
    """The same command line as a success, a failure, and one that is long."""
    return [
        payloads.bash(command, "done"),
        payloads.failed_bash(command, "it failed", 2),
        payloads.bash(command + " && " + "echo something quite long && " * 30 + "true"),
        payloads.bash("cd src && " + command),
    ]


def _all_told(home: processes.Home, given: list[dict]) -> None:
    """Tell the hooks' handlers of all payloads, one after the other."""
    for payload in given:
        assert processes.HANDLERS[processes.SCRIPTS[payload["hook_event_name"]]](payload, home.env()) is None


def test_no_secret_of_a_command_line_is_kept(home: processes.Home):
    given = [call for command in COMMANDS + BY_LOOK for call in _calls_with(command.format(SECRET))]
    _all_told(home, given)
    assert home.failures() == []
    assert home.state(payloads.SESSION).index == len(given)
    assert home.holding(SECRET) == {}


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
    _all_told(home, given)
    assert [token for token in KNOWN if home.holding(token)] == []


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
    _all_told(home, OTHERS)
    assert home.failures() == []
    assert home.state(payloads.SESSION).index == len(OTHERS) - 1, "all but the prompt"
    assert home.holding(SECRET) == {}


def test_a_secret_across_the_place_where_a_text_is_cut_is_not_kept_in_part(home: processes.Home):
    given = []
    for pad in range(60, 130, 3):
        given.append(payloads.bash("echo " + "x" * pad + f" TOKEN={SECRET} y"))
        given.append(payloads.bash("echo " + "x" * (pad + 290) + f" --password {SECRET} y"))
        given.append(payloads.failed_bash("npm test", f"1 failed {'x' * (pad - 30)} https://bob:{SECRET}@example.invalid/x"))
    _all_told(home, given)
    assert home.holding(SECRET[:9]) == {}
