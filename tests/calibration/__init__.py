"""Is the judge right as often as it says? Worlds whose truth is known, observed and judged by the thousand: `make calibrate`.

conditions.py             conditions that make worlds hard
trial_worlds.py, _cases   trial tables of studies, and an effect planted for each kind of observation
run_worlds.py, _cases     runs as others train them, and claims about them
ladder_rates.py           ladders of models whose effect holds, fades, turns
trial_rates.py, run_rates.py  judge them and count

The statistics of the project are what is tested: they run as they do on trials and on runs.
"""
