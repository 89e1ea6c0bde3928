"""`popkit bill draft-skill`: a section of CLAUDE.md as a draft of a skill."""

from __future__ import annotations

import os
import re

from popkit_retention.core import text
from popkit_retention.core.io import home

from ..cli.answering import Answer, Refused
from . import statement
from .project_bill import project_of
from .prompt_rows import section, sections

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from popkit_retention.core.flag_parser import Words


def draft_skill(args: Words, environ: Mapping[str, str]) -> Answer:
    """Write a section of a file as a draft of a skill into a new file; the file of the section stays as it is."""
    path, _, heading = args.argument.partition("#")
    out = args.out
    path = os.path.join(project_of(home.popkit_home(environ), environ), os.path.expanduser(path))
    content = statement.text_of(path)
    if content is None:
        raise Refused(f"{path} cannot be read")
    body = section(content, heading)
    if not body:
        known = [text.clean(name) for _, name, _ in sections(content) if name]
        raise Refused(f"{path} has no section {text.quote(heading)}. Sections: {text.listed(known, 20)}")
    if os.path.lexists(out):
        raise Refused(f"{out} exists already, and is left alone. Name a new file")
    name = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")[:60] or "section"
    draft = f"---\nname: {name}\ndescription: TODO say when this is needed. Claude reads this line alone until it is.\n---\n\n{body}\n"
    with open(out, "x", encoding="utf-8") as file:
        file.write(draft)
    lines = text.wrap(
        f"Wrote {text.clean(out)}. Say in its description when it is needed, and put it at .claude/skills/{name}/SKILL.md. Then take the"
        f" section out of {text.clean(path)} yourself: PopKit does not change that file."
    )
    return Answer(lines, {"written": out, "name": name})
