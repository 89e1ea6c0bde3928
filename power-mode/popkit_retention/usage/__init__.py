"""Usage of requests, snapshots of assembled contexts, and limits, kept in SQLite or in a PostgreSQL that a team shares. Standard library
only, except for the PostgreSQL driver."""
