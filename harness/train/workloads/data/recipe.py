"""Writes what ships with python-packages again, from the packages that are installed here.

`python -m folklore.harness.train.workloads.data.recipe`, half a minute on one core: packages.json pins them, bpe-512.json is
trained on their train split.
"""

import json
from dataclasses import asdict

from . import bpe, packages


def main() -> None:
    pinned = {name: asdict(package) for name, package in packages.installed().items()}
    packages.TABLE.write_text(json.dumps(pinned, indent=1) + "\n")
    texts, contents = packages.read()
    print(contents)
    for name in bpe.SIZES:
        bpe.shipped(name).write_text(bpe.trained(name, texts["train"]))


if __name__ == "__main__":
    main()
