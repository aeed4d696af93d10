"""Entity clusters (§2.2.2): a hierarchy over profiles, cut at a threshold."""
