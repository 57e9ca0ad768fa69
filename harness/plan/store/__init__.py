"""Stored data: the ledger of finished packs, declarations, the published evidence. A reader never sees half a file."""
