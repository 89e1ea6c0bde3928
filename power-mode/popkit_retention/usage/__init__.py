"""Usage of requests, snapshots of assembled contexts, and limits, kept in SQLite or in a PostgreSQL that a team shares. Standard library
only, except for the PostgreSQL driver.

`records` are what is kept. `store` has the statements that both databases share, `sqlite` and `postgres` their transactions; `database`
opens the configured one (`address`) and sends what was recorded here to a team's server. Records come from transcripts (`ingestion`) or
from builders (`writer`). `budgets` compares their sums with limits.
"""
