"""Work beyond one machine: shards of entities, counts that merge by addition, and an executor for Dask."""
