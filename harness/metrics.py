"""The former name of harness/declare/metrics, answered for one version."""

import warnings

from .declare.metrics import *  # noqa: F403

warnings.warn("folklore.harness.metrics is called folklore.harness.declare.metrics now", FutureWarning, stacklevel=2)
