"""Record one hook call (payload, environment, what the transcript holds) as a file in $POPKIT_PROBE_DIR.

Does nothing without that folder. What it answers comes from `answers.json` there: {event: JSON to print, or text}, or
{"event:prompt": …}; {"pause": {"Read": 0.5}} makes calls slower by tool.
"""

import json
import os
import sys
import time


def answers_in(folder):
    """The answers that a test laid down, or none."""
    try:
        with open(os.path.join(folder, "answers.json"), encoding="utf-8") as stream:
            return json.load(stream)
    except FileNotFoundError:
        return {}


def transcript_lines(path):
    """The transcript as it is at this moment; no file yet is no lines."""
    try:
        with open(path, encoding="utf-8") as stream:
            # The client may be writing: a line without its end is not there yet.
            return [json.loads(line) for line in stream if line.endswith("\n") and line.strip()]
    except FileNotFoundError:
        return []


def main():
    """Record, wait if told to, answer if told to."""
    folder = os.environ.get("POPKIT_PROBE_DIR")
    payload = json.load(sys.stdin)
    if not folder:
        return
    event = payload["hook_event_name"]
    answers = answers_in(folder)
    lines = transcript_lines(payload.get("transcript_path") or "")
    started = time.time()
    time.sleep(answers.get("pause", {}).get(payload.get("tool_name"), 0))
    prefixes = ("CLAUDE", "POPKIT", "ANTHROPIC_BASE")
    kept = {name: value for name, value in os.environ.items() if name.startswith(prefixes)}
    record = {
        "payload": payload,
        "env": kept,
        "cwd": os.getcwd(),
        "argv": sys.argv,
        "started": started,
        "ended": time.time(),
        "lines": len(lines),
        "results_written": [
            block["tool_use_id"]
            for line in lines
            for block in (line.get("message") or {}).get("content") or []
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ],
    }
    name = f"{time.time_ns()}-{os.getpid()}-{event}.json"
    temporary = os.path.join(folder, "." + name)
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(record, stream)
    os.replace(temporary, os.path.join(folder, name))
    prompt = payload.get("prompt", "")
    answer = answers.get(f"{event}:{prompt}", answers.get(event))
    if answer is not None:
        sys.stdout.write(answer if isinstance(answer, str) else json.dumps(answer))


if __name__ == "__main__":
    main()
