"""What requests used, snapshots of assembled contexts, and limits: in SQLite, or in a PostgreSQL that a team shares. Standard library only,
but for the driver of PostgreSQL."""
