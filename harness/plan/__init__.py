"""Plans a study: what it has to train, which of it is stored, and what the rest costs. Trains nothing.

In: a study at a scale, the machine or cluster, a store.
Out: trials with digests, computed jobs, packs and an estimate; the ledger, which keeps what is done.
Imports: declare, train, models.
"""
