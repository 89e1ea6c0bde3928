"""The versions of the tables, oldest first, and how a database is brought to the newest. What has been released is never edited."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

VERSIONS = ("0001",)
VERSION_TABLE = "popkit_context_version"  # a team's database may be of others too, with a table of Alembic's own


def run(connection: Connection) -> None:
    """Brings the tables to the newest version, within the caller's transaction."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", os.path.dirname(os.path.abspath(__file__)).replace("%", "%%"))
    scripts = ScriptDirectory.from_config(config)
    with EnvironmentContext(config, scripts, fn=lambda version, _: scripts._upgrade_revs("head", version)) as environment:  # noqa: SLF001
        environment.configure(connection=connection, version_table=VERSION_TABLE, transactional_ddl=True)
        environment.run_migrations()
