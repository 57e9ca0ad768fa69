"""Metrics that one study uses, a module a study: functions of a table of trials (harness/declare/metrics/functions.py)."""

from ...harness.declare import metrics  # noqa: F401  # whoever imports a metric first: all kinds are known after it
