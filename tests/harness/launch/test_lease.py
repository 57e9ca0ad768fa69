"""One run at a time for each study of a store; a holder that is gone holds nothing."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from folklore.harness.errors import UserError
from folklore.harness.launch import lease
from folklore.harness.launch.lease import Lease, leases
from folklore.harness.plan.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


def held_elsewhere(store: Store, **changed: object) -> dict[str, object]:
    holder = {"host": "another", "process": 1, "started": "1", "token": "theirs", "renewals": 0, **changed}
    store.write("running/toy.json", json.dumps(holder).encode())
    return holder


def test_a_second_run_is_refused_while_the_first_runs(store: Store) -> None:
    with Lease(store, "toy"):
        with pytest.raises(UserError, match=f"is being run into this store by {os.uname().nodename}, process {os.getpid()}"):
            Lease(store, "toy").__enter__()
        with Lease(store, "other"):
            pass
    with Lease(store, "toy"):
        pass
    assert not store.exists("running/toy.json")


def test_a_process_that_was_killed_holds_nothing(store: Store) -> None:
    imports = "import os; from folklore.harness.launch.lease import Lease; from folklore.harness.plan.store.store import Store"
    code = f"{imports}; Lease(Store({store.root!r}), 'toy').__enter__(); os._exit(9)"
    killed = subprocess.Popen([sys.executable, "-c", code])
    while not store.exists("running/toy.json") and killed.poll() is None:
        time.sleep(0.02)
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet collected by its parent
    assert store.exists("running/toy.json")
    with Lease(store, "toy"):
        pass
    killed.wait()


def test_a_process_number_that_was_given_away_again_holds_nothing(store: Store) -> None:
    held_elsewhere(store, host=os.uname().nodename, process=os.getpid(), started="1")
    with Lease(store, "toy") as mine:
        assert json.loads(store.read("running/toy.json"))["token"] == mine.token


@pytest.mark.parametrize("renews", [True, False])
def test_a_holder_on_another_machine_is_there_while_it_renews(store: Store, renews: bool) -> None:
    holder = held_elsewhere(store)
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if renews and 9 < now[0] < 11:
            held_elsewhere(store, renewals=holder["renewals"], token="theirs", process=2)

    mine = Lease(store, "toy", sleep, lambda: now[0])
    if renews:
        with pytest.raises(UserError, match="being run into this store by another"):
            mine.__enter__()
    else:
        with mine:
            assert now[0] >= lease.GONE_SECONDS
            assert json.loads(store.read("running/toy.json"))["token"] == mine.token


def test_of_two_that_start_at_once_one_goes_on(store: Store) -> None:
    def other_writes_last(seconds: float) -> None:
        held_elsewhere(store)

    with pytest.raises(UserError, match="started by another process at this moment"):
        Lease(store, "toy", other_writes_last).__enter__()
    assert json.loads(store.read("running/toy.json"))["token"] == "theirs"


def test_it_renews(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "RENEW_SECONDS", 0.01)
    with Lease(store, "toy") as mine:
        while (holder := json.loads(store.read("running/toy.json")))["renewals"] < 2:
            pass
        assert holder["token"] == mine.token


def test_several_are_held_together_or_not_at_all(store: Store) -> None:
    with Lease(store, "b"), pytest.raises(UserError), leases(store, ["b", "a"]):
        pass
    assert not store.exists("running/a.json")
