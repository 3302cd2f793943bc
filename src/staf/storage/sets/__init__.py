"""Sets of fields: shards of many fields in one file, and one index that survives a crash."""

from __future__ import annotations

from staf.storage.sets.folder import SetFolder
from staf.storage.sets.index import Entry
from staf.storage.sets.place import Place
from staf.storage.sets.shard import Finished, Shard, write_shards

__all__ = ["Entry", "Finished", "Place", "SetFolder", "Shard", "write_shards"]
