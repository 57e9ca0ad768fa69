"""The former name of kit.py, answered for one version."""

import warnings

from .kit import *

warnings.warn("folklore.studies.shorthand is called folklore.studies.kit now", FutureWarning, stacklevel=2)
