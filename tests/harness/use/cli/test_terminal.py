"""A run as a person at a terminal sees it."""

import pytest

from folklore.harness.launch.events import Silent
from folklore.harness.use.cli.terminal import Terminal
from tests.verdicts import a_verdict


@pytest.mark.parametrize("quiet", [False, True])
def test_quiet_leaves_verdicts_and_warnings(quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(Silent(), quiet)
    terminal.say("starting workers")
    terminal.warn("the store is nearly full")
    terminal.judged([a_verdict(claim="warmup.widens")])
    assert terminal.view().console.quiet is quiet
    output = capsys.readouterr()
    assert ("starting workers" in output.out) is not quiet
    assert "warmup.widens" in output.out
    assert "the store is nearly full" in output.err
