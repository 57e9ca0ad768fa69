"""The former room of kit.py, whose functions have changed with it."""

raise ImportError("folklore.studies.shorthand is gone: write the study with folklore.studies.kit (CONTRIBUTING.md, 'A study')")
