"""Which entities are similar: profiles, nearest neighbours, clusters (§2.2.1, §2.2.2)."""
