"""Usage of requests, snapshots of assembled contexts, and limits, kept in SQLite or in a PostgreSQL that a team shares. Standard library
only, except for the PostgreSQL driver.

`records` has what is kept, and what remains of a budget. `usage_store` has the statements that both databases share, `sqlite` and
`postgres` their transactions; `configured_database` opens the configured one and sends what was recorded here to a team's server. Records
come from transcripts (`ingestion`) or from builders (`writer`). `budgets` compares their sums with limits.
"""
