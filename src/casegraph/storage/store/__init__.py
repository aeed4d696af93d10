"""A case base on disk: a log of updates, generations of its state, one writer, many readers."""
