"""Pages as a pure function of stored trials, and the published evidence."""

import logging

# Before any module here imports matplotlib, which warns of a folder it cannot keep a cache in (a read-only home), and of the
# seconds that its list of fonts takes: it works all the same, and nobody who runs a study can or need do anything about it.
for name in ("matplotlib", "matplotlib.font_manager"):
    logging.getLogger(name).setLevel(logging.ERROR)
