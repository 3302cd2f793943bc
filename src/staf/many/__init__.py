"""Many signals: fitted together, into folders or sets of shards, here or on a cluster, from a learnt start."""
