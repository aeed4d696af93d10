"""A case base on disk: an append-only log of updates, snapshots of its state, one writer and many readers."""
