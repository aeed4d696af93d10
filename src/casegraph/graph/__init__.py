"""Facts, as names and as arrays (§2.1)."""
