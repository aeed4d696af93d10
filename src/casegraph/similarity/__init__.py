"""Which entities are alike: profiles, the nearest, clusters (§2.2.1, §2.2.2)."""
