"""The former name of harness/declare, answered for one version."""

import warnings

from .declare import *  # noqa: F403

warnings.warn("folklore.harness.spec is called folklore.harness.declare now", FutureWarning, stacklevel=2)
