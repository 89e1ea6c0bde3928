"""Run one function over any number of sessions: in processes of this machine, or on a Dask cluster. One session is one task."""
