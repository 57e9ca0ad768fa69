"""Plain English: words of our own that stopped readers do not come back where a person reads, code and comments included."""

import re

import pytest

from tests.places import ROOT

# What stands for it in plain English. Whole words, in any case.
BANNED = {
    r"foretells?": "predict",
    r"mends?|mended": "fix",
    r"dear|dearer": "expensive",
    r"anew": "again",
    r"none's": "unknown",
    r"nobody's": "no one's",
    r"so many(?! that| are| lanes|,| of each)": "this many, or the number",
    r"so-manieth": "number n",
    r"(?:is|are|was|were|be) looked at": "inspect, measure, compare",
    r"where it is had": "if available",
    r"goes as the power": "scales as",
    r"of the fall": "of the loss reduction",
    r"undecidable\w*": "not estimable",
    r"takeover": "switch",
}
# Names of criteria and of other readings are declared, and stay as they are until a study's next version.
IN_DECLARED_NAMES = {"of the fall", "anew"}
READ = ("README.md", "CONTRIBUTING.md", "Makefile", "harness/**/*.py", "models/**/*.py", "studies/**/*.py", "reports/*.py",
        "reports/figures/*.py", "reports/templates/*")  # fmt: skip


@pytest.mark.parametrize("pattern", READ)
def test_banned_words_do_not_come_back(pattern: str) -> None:
    words = set(BANNED) - (IN_DECLARED_NAMES if pattern.startswith("studies") else set())
    banned = re.compile(rf"\b(?:{'|'.join(sorted(words))})\b", re.IGNORECASE)
    files = sorted(ROOT.glob(pattern))
    assert files
    offences = [
        f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for file in files
        for text in [file.read_text("utf-8")]
        for match in banned.finditer(text)
    ]
    assert not offences, "\n".join(offences)
