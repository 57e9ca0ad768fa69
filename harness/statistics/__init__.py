"""What the judge reckons with: intervals, combining, power, sequential looks. Arrays and numbers in, numbers out; no study is
known here.

LEVEL is that of intervals, ALPHA the error of one claim.
"""

LEVEL, ALPHA = 0.95, 0.05
