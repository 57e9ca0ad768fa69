"""Runs trained elsewhere: read, checked, judged by the same statistics, and watched as they train. No evidence of a study.

In: tables and logs of other trainers, claims as text, commands to repeat, a user's own training loop.
Out: runs with their problems, verdicts, the noise between seeds, a gate, alarms.
Imports: declare, plan, judge.
"""
