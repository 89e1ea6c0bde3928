"""Archive the contents that left the context, in a SQLite file, chained per context and kept by zone.

Stands on the I/O seam alone. Loading it loads neither `sqlite3` nor `json`: what needs them imports them.
"""

from ..io.hash_chain import FIRST_PREV_HASH
from .chains import Chain, Clear, chain, clears_of, clears_of_records, mark_undone
from .content import RetentionIntegrityError, compress_content, decompress_content, gunzip_content, gzip_content, hash_content
from .deletion import Pruned, prunable, prune, pruned_of
from .display import text_of, value_of
from .migrations import ArchiveDamaged, ArchiveError, ArchiveTooNew, Transaction, migrate, open_archive
from .records import (
    Added,
    NewRecord,
    Record,
    add_records,
    find_records,
    handle_of,
    handles_of,
    record,
    records_of_clear,
    records_of_tool_use,
    set_source,
)
from .sources import is_kept, recover, source_of
from .spill import leave
from .verification import Broken, Verified, verify
from .zones import (
    HOT_MAX_POSITION,
    RETENTION_ZONES,
    WARM_MAX_POSITION,
    ArchiveRecordInput,
    RecordNotFound,
    RetentionZone,
    RetrieveRecordInput,
    archive_chain,
    archive_record,
    compute_zone,
    due_cold,
    get_record_position,
    retrieve_record,
    stats,
    zone_sizes,
)

__all__ = [
    "FIRST_PREV_HASH",
    "HOT_MAX_POSITION",
    "RETENTION_ZONES",
    "WARM_MAX_POSITION",
    "Added",
    "ArchiveDamaged",
    "ArchiveError",
    "ArchiveRecordInput",
    "ArchiveTooNew",
    "Broken",
    "Chain",
    "Clear",
    "NewRecord",
    "Pruned",
    "Record",
    "RecordNotFound",
    "RetentionIntegrityError",
    "RetentionZone",
    "RetrieveRecordInput",
    "Transaction",
    "Verified",
    "add_records",
    "archive_chain",
    "archive_record",
    "chain",
    "clears_of",
    "clears_of_records",
    "compress_content",
    "compute_zone",
    "decompress_content",
    "due_cold",
    "find_records",
    "get_record_position",
    "gunzip_content",
    "gzip_content",
    "handle_of",
    "handles_of",
    "hash_content",
    "is_kept",
    "leave",
    "mark_undone",
    "migrate",
    "open_archive",
    "prunable",
    "prune",
    "pruned_of",
    "record",
    "records_of_clear",
    "records_of_tool_use",
    "recover",
    "retrieve_record",
    "set_source",
    "source_of",
    "stats",
    "text_of",
    "value_of",
    "verify",
    "zone_sizes",
]
