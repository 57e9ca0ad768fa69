"""Runs that others trained: read, checked and judged by the statistics of the studies. They never enter a study's evidence.

source (file, folder, address) -> Table (readers/) -> Runs (roles.py: which column is what) -> problems (checks.py) -> claims
(claims.py) -> verdicts (judging.py). Nothing here imports torch.
"""
