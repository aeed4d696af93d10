"""Where work is done: in this process, in shards, on a Dask cluster."""
