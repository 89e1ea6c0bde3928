"""The texts that the host shows in place of the structures with which its own tools answer, but for shells and searches. Pure."""

from __future__ import annotations

from .blocks import dumps_or_nothing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Response = dict[str, Any]
    Form = Callable[[Response], "str | None"]

# The host shows so many of the end of a task's output.
_TASK_CHARS = 32_000


def _polled(response: Response) -> str | None:
    """Return what the host shows of a command that works in the background."""
    parts = [f"<status>{response.get('status')}</status>"]
    if response.get("exitCode") is not None:
        parts.append(f"<exit_code>{response['exitCode']}</exit_code>")
    parts += [
        f"<{name}>\n{text.rstrip()}\n</{name}>" for name in ("stdout", "stderr") if isinstance(text := response.get(name), str) and text
    ]
    return "\n\n".join([*parts, f"<timestamp>{response['timestamp']}</timestamp>"] if response.get("timestamp") else parts)


def _output_of_task(response: Response) -> str | None:
    """Return what the host shows of a task that works in the background: its state, and the end of its output."""
    task = response.get("task")
    if not isinstance(task, dict) or not isinstance(task.get("output"), str):
        return None
    named = [("retrieval_status", response), ("task_id", task), ("task_type", task), ("status", task)]
    parts = [f"<{name}>{where.get(name)}</{name}>" for name, where in named]
    if task.get("exitCode") is not None:
        parts.append(f"<exit_code>{task['exitCode']}</exit_code>")
    output = task["output"].rstrip()
    parts += [f"<output>\n{output[-_TASK_CHARS:]}\n</output>"] if output else []
    return "\n\n".join([*parts, f"<error>{task['error']}</error>"] if task.get("error") else parts)


def _created_task(response: Response) -> str | None:
    task = response.get("task")
    return f"Task #{task.get('id')} created successfully: {task['subject']}" if isinstance(task, dict) and "subject" in task else None


def _one_task(response: Response) -> str | None:
    task = response.get("task")
    if not isinstance(task, dict) or "status" not in task or "description" not in task:
        return None
    lines = [f"Task #{task.get('id')}: {task.get('subject')}", f"Status: {task['status']}", f"Description: {task['description']}"]
    for title, name in (("Blocked by", "blockedBy"), ("Blocks", "blocks")):
        others = task.get(name)
        lines += [f"{title}: " + ", ".join([f"#{id}" for id in others])] if isinstance(others, list) and others else []
    return "\n".join(lines)


def _tasks(response: Response) -> str | None:
    tasks = response.get("tasks")
    if not isinstance(tasks, list) or not all(isinstance(each, dict) for each in tasks):
        return None
    return "\n".join([_listed_task(each) for each in tasks]) or "No tasks found"


def _listed_task(task: Response) -> str:
    """Return the line of a task in the list of all."""
    owner, blocked = task.get("owner"), task.get("blockedBy")
    by = f" [blocked by {', '.join([f'#{id}' for id in blocked])}]" if isinstance(blocked, list) and blocked else ""
    return f"#{task.get('id')} [{task.get('status')}] {task.get('subject')}{f' ({owner})' if owner else ''}{by}"


def _updated_task(response: Response) -> str | None:
    if "taskId" not in response:
        return None
    if response.get("success") is False:
        return str(response.get("error") or f"Task #{response['taskId']} not found")
    fields = response.get("updatedFields")
    return f"Updated task #{response['taskId']} {', '.join([str(field) for field in fields])}" if isinstance(fields, list) else None


def _answers(response: Response) -> str | None:
    answers = response.get("answers")
    if not isinstance(answers, dict):
        return None
    replies = ", ".join([f'"{question}"="{answer}"' for question, answer in answers.items()])
    return f"Your questions have been answered: {replies}. You can now continue with these answers in mind."


def _findings(response: Response) -> str | None:
    return f"{response['count']} findings reported." if isinstance(response.get("findings"), list) and "count" in response else None


def _fetched(response: Response) -> str | None:
    return response["result"] if isinstance(response.get("result"), str) else None


def _launched(response: Response) -> str | None:
    return f"Launching skill: {response['commandName']}" if isinstance(response.get("commandName"), str) else None


def _referenced(response: Response) -> str | None:
    names = response.get("matches")
    return (
        "\n".join([dumps_or_nothing({"type": "tool_reference", "tool_name": name}) for name in names]) if isinstance(names, list) else None
    )


FORMS: dict[str, Form] = {
    "BashOutput": _polled, "TaskOutput": _output_of_task, "TaskCreate": _created_task, "TaskGet": _one_task, "TaskList": _tasks,
    "TaskUpdate": _updated_task, "AskUserQuestion": _answers, "ReportFindings": _findings, "WebFetch": _fetched, "Skill": _launched,
    "ToolSearch": _referenced,
}  # fmt: skip
