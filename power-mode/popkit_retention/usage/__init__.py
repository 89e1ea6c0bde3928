"""Usage of requests, kept beside the user's limits in SQLite, or in a PostgreSQL that a team shares. Standard library only, except for the
PostgreSQL driver.

`records` has what is kept, `budget_share` what remains of a budget. `usage_store` has the statements that both databases share, `sqlite`
and `postgres` their transactions; `configured_database` opens the configured one and sends what was recorded here to a team's server.
Records come from transcripts (`ingestion`) or from the context builder (`context.usage_writer`). `budgets` compares their sums with limits.
"""
