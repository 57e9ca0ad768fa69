"""Trains what is left of a plan, on Ray, and shows it in MLflow: the queue of packs, the jobs on workers.

In: studies to train, a store, options such as workers and a deadline.
Out: packs in the ledger, runs in MLflow, and how each study's part of the launch ended.
Imports: declare, train, plan, judge.
"""
