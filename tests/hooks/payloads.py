"""Small hook payloads of the shapes that the real client sends, one maker for each kind of call."""

from __future__ import annotations

import itertools

SESSION = "3ffaa4db-e088-49ec-9796-e52ccd23114a"
CWD = "/home/dev/shop"
_numbers = itertools.count(1)


def common(event: str, **more) -> dict:
    return {
        "session_id": SESSION,
        "transcript_path": f"/nonexistent/projects/-home-dev-shop/{SESSION}.jsonl",
        "cwd": CWD,
        "prompt_id": "a74559fa-ec2c-433b-9229-d124e5efe38c",
        "permission_mode": "default",
        "effort": {"level": "high"},
        "hook_event_name": event,
        **more,
    }


def call(tool: str, tool_input: dict, response: object, **more) -> dict:
    """A call that succeeded."""
    id = f"toolu_{next(_numbers):06d}"
    return common(
        "PostToolUse",
        **{"tool_name": tool, "tool_input": tool_input, "tool_response": response, "tool_use_id": id, "duration_ms": 4, **more},
    )


def failure(tool: str, tool_input: dict, error: str, **more) -> dict:
    """A call that failed."""
    id = f"toolu_{next(_numbers):06d}"
    rest = {"tool_name": tool, "tool_input": tool_input, "tool_use_id": id, "error": error, "is_interrupt": False, "duration_ms": 4}
    return common("PostToolUseFailure", **{**rest, **more})


def text_file(path: str, content: str, start: int = 1, total: int | None = None) -> dict:
    lines = content.count("\n") + 1
    total = lines if total is None else total
    return {"type": "text", "file": {"filePath": path, "content": content, "numLines": lines, "startLine": start, "totalLines": total}}


def read(path: str, content: str, **more) -> dict:
    return call("Read", {"file_path": path}, text_file(path, content), **more)


def shell_output(stdout: str, stderr: str = "") -> dict:
    return {"stdout": stdout, "stderr": stderr, "interrupted": False, "isImage": False, "noOutputExpected": False}


def bash(command: str, stdout: str = "", **more) -> dict:
    return call("Bash", {"command": command, "description": "a command"}, shell_output(stdout), **more)


def failed_bash(command: str, output: str = "", code: int = 1, **more) -> dict:
    return failure("Bash", {"command": command, "description": "a command"}, f"Exit code {code}\n{output}".rstrip("\n"), **more)


def grep(pattern: str, content: str, **more) -> dict:
    tool_input = {"pattern": pattern, "path": CWD, "output_mode": "content"}
    response = {"mode": "content", "numFiles": 0, "filenames": [], "content": content, "numLines": content.count("\n") + 1}
    return call("Grep", tool_input, response, **more)


def glob(pattern: str, names: list[str], **more) -> dict:
    count = {"numFiles": len(names), "totalMatches": len(names), "countIsComplete": True}
    response = {"filenames": names, "durationMs": 9, "truncated": False, **count}
    return call("Glob", {"pattern": pattern, "path": CWD}, response, **more)


def edit(path: str, old: str, new: str, original: str, **more) -> dict:
    patch = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-" + old, "+" + new]}
    response = {
        "filePath": path, "oldString": old, "newString": new, "originalFile": original, "structuredPatch": [patch], "userModified": False,
        "replaceAll": False,
    }  # fmt: skip
    return call("Edit", {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}, response, **more)


def write(path: str, content: str, **more) -> dict:
    response = {"type": "create", "filePath": path, "content": content, "structuredPatch": [], "originalFile": None, "userModified": False}
    return call("Write", {"file_path": path, "content": content}, response, **more)


def agent(prompt: str, answer: str, **more) -> dict:
    tool_input = {"description": "sub job", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": False}
    response = {
        "status": "completed", "prompt": prompt, "agentId": "a7af87b78575ba274", "agentType": "general-purpose",
        "content": [{"type": "text", "text": answer}], "totalDurationMs": 1463, "totalTokens": 9024, "totalToolUseCount": 2,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 8464, "output_tokens": 50},
    }  # fmt: skip
    return call("Agent", tool_input, response, **more)


def mcp(tool_input: dict, text: str, **more) -> dict:
    return call("mcp__demo__lookup", tool_input, [{"type": "text", "text": text}], **more)


def pre_tool_use(command: str, **more) -> dict:
    """A Bash call that is about to run."""
    tool_input = {"command": command, "description": "a command"}
    return common("PreToolUse", **{"tool_name": "Bash", "tool_input": tool_input, "tool_use_id": f"toolu_{next(_numbers):06d}", **more})


def prompt(words: str, **more) -> dict:
    return common("UserPromptSubmit", prompt=words, **more)


def stop(**more) -> dict:
    rest = {"stop_hook_active": False, "last_assistant_message": "All done.", "background_tasks": [], "session_crons": []}
    return common("Stop", **{**rest, **more})


def session_start(source: str = "startup", **more) -> dict:
    return common("SessionStart", **{"source": source, "model": "claude-opus-4-8[1m]", **more})


def session_end(reason: str = "other", **more) -> dict:
    return common("SessionEnd", reason=reason, **more)


def pre_compact(**more) -> dict:
    return common("PreCompact", **{"trigger": "manual", "custom_instructions": "", **more})


def one_of_each() -> list[dict]:
    """A payload of every kind, in an order that could be a session's."""
    path = CWD + "/src/app.js"
    source = "exports.add = (a, b) => a - b;\n"
    return [
        session_start(),
        prompt("please fix the sum"),
        read(path, source),
        call("Read", {"file_path": path}, {"type": "file_unchanged", "file": {"filePath": path}}),
        bash("rg -n add src | head -20", "src/app.js:1:exports.add"),
        bash("cat src/app.js", source),
        failed_bash("npm test", "FAIL add(1,2) = -1\n1 failing", 1),
        edit(path, "a - b", "a + b", source),
        bash("npm test", "> shop@1.0.0 test\n> node test.js\n\n1 passing"),
        write(CWD + "/notes.md", "hello\n"),
        grep("add", "src/app.js:1:exports.add"),
        glob("**/*.js", ["src/app.js", "test.js"]),
        pre_tool_use("cd src && popkit restore abcd2345"),
        mcp({"key": "colour"}, "blue"),
        failure("mcp__demo__fail", {"key": "shape"}, "no such key: shape"),
        failure("Read", {"file_path": CWD + "/nope.txt"}, "File does not exist."),
        call("TaskCreate", {"subject": "t1", "description": "d1"}, {"task": {"id": "1", "subject": "t1"}}),
        call("TaskList", {}, {"tasks": [{"id": "1", "subject": "t1", "status": "pending", "blockedBy": []}]}),
        call(
            "WebFetch",
            {"url": "https://example.invalid/doc", "prompt": "what is it"},
            {"code": 200, "result": "a page", "url": "https://x"},
        ),
        call("AskUserQuestion", {"questions": [{"question": "which?"}]}, {"answers": {"which?": "this"}}),
        agent("do it", "done"),
        read(path, source, agent_id="a7af87b78575ba274", agent_type="general-purpose"),
        bash("git add -A && git commit -qm fix"),
        stop(),
        pre_compact(),
        session_start("compact"),
        session_end(),
    ]


def one_of_each_event() -> list[dict]:
    """A payload of every event, for what has nothing to do with the kinds of calls."""
    return list({payload["hook_event_name"]: payload for payload in one_of_each()}.values())
