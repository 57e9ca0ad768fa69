"""The server of `folklore mcp`: what it offers, what it refuses, and what it leaves behind."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from mcp.server.mcpserver.exceptions import ToolError

from folklore.harness.use.agents import commands, tools
from folklore.harness.use.agents.run_events import RunEvents
from folklore.harness.use.agents.tools import Tools
from tests.command_line import HANG_SECONDS, folklore_here
from tests.harness.use.agents.serving import (
    COMMAND,
    VARIABLE,
    Agent,
    Progress,
    agent,
    agent_here,
    commands_here,
    environment,
    spoken,
)
from tests.processes import AGENTS, inheriting, wait_until_gone

READING = {"list_studies", "plan", "verdicts", "why", "judge", "noise"}
# name, loss, first seed; the last is paired with neither
ARMS = (("a", 1.0, 0), ("b", 0.97, 0), ("c", 1.0, 10))
# A bowl, of which one claim speaks, by fewer clauses at smoke scale.
TWO_TRIALS = {"seeds": 1, "only": ["below", "above"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server is started: with a module in it that takes a library's name, and one that is a study."""
    folder = tmp_path_factory.mktemp("agent")
    for name in ("scipy.py", "evil.py"):
        (folder / name).write_text(f"import pathlib; pathlib.Path({str(folder / 'ran')!r}).touch()")
    return folder


@pytest.fixture(scope="module")
def server_here(folder: Path) -> Iterator[Agent]:
    with agent_here(folder / "store") as agent:
        yield agent


@pytest.fixture
def here(server_here: Agent, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """A server whose commands run in this process: for tests of their answers."""
    monkeypatch.setattr(tools, "folklore", commands_here(folder))
    return server_here


def test_every_tool_says_when_to_use_it_what_it_takes_and_what_it_gives(here: Agent) -> None:
    offered = here.tools()
    assert READING | {"run"} <= offered.keys()
    for name, tool in offered.items():
        assert tool.output_schema is not None, name
        assert tool.output_schema["properties"], name
        assert len(tool.description or "") > 150, name
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint == (name != "run"), name
        undescribed = [parameter for parameter, field in tool.input_schema["properties"].items() if "description" not in field]
        assert set(undescribed) <= {"variation", "columns"}, name  # which describe themselves
    assert offered["run"].input_schema["required"] == ["study", "budget_seconds"]
    assert "until a claim is supported" in (offered["run"].description or "")


def test_a_study_that_is_listed_can_be_planned(here: Agent) -> None:
    """And a plan says what its seeds can show."""
    listed = {row["study"]: row for row in here.ask("list_studies")["studies"]}
    assert {"smoke", "laptop"} <= set(listed["warmup"]["scales"])
    plan = here.ask("plan", study="edge_of_stability", scale="smoke", variation=TWO_TRIALS)
    assert (plan["trials"], plan["trials_left"], plan["seeds"]) == (2, 2, 1)
    assert plan["power"] is None
    power = here.ask("plan", study="warmup", scale="laptop")["power"]
    assert "published" in power["from"]
    assert any(criterion["resolves"] for criterion in power["criteria"])


def test_why_says_whether_a_verdict_is_firm_and_what_it_does_not_survive(here: Agent) -> None:
    claims = ("noise.variance", "noise.temperature", "gen.sharper")
    firm, fragile, undecided = (here.ask("why", claim=claim, published=True)["explanations"][0] for claim in claims)
    assert [explanation["standing"] for explanation in (firm, fragile, undecided)] == ["firm", "fragile", ""]
    assert [bool(explanation["fragile"]) for explanation in (firm, fragile, undecided)] == [False, True, False]
    assert len(firm["criteria"][0]["by_seed"]) == firm["criteria"][0]["seeds"]
    assert set(firm["robustness"]["without_seed"].values()) == {firm["verdict"]}
    assert set(fragile["robustness"]["without_seed"].values()) > {fragile["verdict"]}


@pytest.fixture(scope="module")
def runs(folder: Path) -> Path:
    """Six seeds of two arms that differ by 3% and of one like the first, and one seed of two more."""
    path, noise = folder / "runs.csv", (0.001, -0.002, 0.003, -0.001, 0.002, -0.003)
    lines = [f"{arm},{seed},{loss + noise[seed - start]}" for arm, loss, start in ARMS for seed in range(start, start + 6)]
    lines += ["one,0,1.0", "other,0,0.5"]
    path.write_text("\n".join(["arm,seed,val_loss", *lines]))
    return path


def test_runs_from_elsewhere_are_judged_together(here: Agent, runs: Path) -> None:
    claims = ["val_loss: b < a by 1%", "val_loss: a < b", "val_loss: other < one"]
    answer = here.ask("judge", runs=[str(runs)], claims=claims)
    better, worse, single = answer["claims"]
    assert (better["verdict"], better["strength"]) == ("supported", "firm")
    assert worse["verdict"] == "refuted"
    assert single["strength"] != "firm"
    assert answer["read"][0]["arms"] == {"a": 6, "b": 6, "c": 6, "one": 1, "other": 1}
    compared = here.ask("judge", runs=[str(runs)], compare="a", by="1%", columns={"where": ["seed=0"]})
    assert not any(claim["strength"] == "firm" for claim in compared["claims"])


def test_noise_says_which_differences_are_within_it(here: Agent, runs: Path) -> None:
    wanted = {"runs": [str(runs)], "columns": {"arm": "arm", "where": ["arm=a"]}, "differences": ["0.0001@1", "0.03@3"]}
    answer = here.ask("noise", **wanted)
    assert [difference["within_noise"] for difference in answer["compared"]] == [True, False]
    assert answer["standard_deviation"] == pytest.approx(0.00237, rel=0.01)
    assert answer["visible"][0]["difference"] > answer["visible"][-1]["difference"]


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("plan", {"study": "warmupp"}, "no study named 'warmupp': did you mean 'warmup'?"),
        (
            "plan",
            {"study": "warmup", "scale": "--help"},
            "no scale of study 'warmup' named '--help': known: cluster, gpu, laptop",
        ),
        ("plan", {"study": "warmup", "variation": {"settings": ["peak_lr"]}}, "peak_lr"),
        ("why", {"claim": "warmup.widen"}, "no claim named 'warmup.widen': did you mean 'warmup.widens'?"),
        ("plan", {"study": "warmup", "scal": "laptop"}, "no argument named 'scal': did you mean 'scale'?"),
        ("plan", {"study": "warmup", "variation": {"seads": 1}}, "variation: no field named 'seads': did you mean 'seeds'?"),
        ("plan", {"study": "warmup", "variation": '{"seads": 1}'}, "variation: no field named 'seads': did you mean 'seeds'?"),
        ("noise", {"runs": ["runs.csv"], "columns": {"metrics": "loss"}}, "columns: no field named 'metrics'"),
        ("plann", {"study": "warmup"}, "no tool named 'plann': did you mean 'plan'?"),
        ("judge", {"runs": []}, "at least 1 item"),
        ("judge", {"runs": ["no-such.csv"], "compare": "a"}, "no-such.csv"),
        ("judge", {"runs": ["evil.py"], "compare": "a"}, "evil.py"),
        ("noise", {"runs": ["no-such.csv"]}, "no-such.csv"),
        ("noise", {"runs": ["ls", "{seed}"]}, "ls {seed}: holds {seed}, so it is a command and no stored run"),
        ("run", {"study": "warmup"}, "budget_seconds: Field required"),
        ("run", {"study": "warmup", "budget_seconds": 0}, "greater than or equal to 1"),
        ("run", {"study": "warmupp", "budget_seconds": 5}, "no study named 'warmupp': did you mean 'warmup'?"),
        ("run", {"study": "warmup", "budget_seconds": 5, "most_seeds": 9}, "--most-seeds says where --until-decided ends"),
    ],
)
def test_what_cannot_be_done_is_refused_in_the_command_s_own_line(
    here: Agent, tool: str, arguments: dict[str, Any], line: str
) -> None:
    message = here.refused(tool, **arguments)
    assert message.startswith(f"Error executing tool {tool}: ")
    assert " ".join(line.split()) in " ".join(message.split())
    assert "Traceback" not in message


def test_what_cannot_be_started_is_refused(server_here: Agent) -> None:
    assert "embedded null byte" in server_here.refused("plan", study="a\0b")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("plan", {"study": "a" * 300_000}),
        ("judge", {"runs": ["/a" * 2500], "claims": ["loss: b < a"]}),
        ("judge", {"runs": ["runs.csv"], "columns": {"where": ["a" * 5000]}}),
        ("plan", {"study": "warmup", "data": {"a" * 5000: "text"}}),
    ],
)
def test_a_long_text_is_refused_before_any_command_starts(
    here: Agent, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    monkeypatch.setattr(tools, "folklore", None)
    assert "more than 4,096; give a shorter one" in here.refused(tool, **arguments)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("plan", {"study": "evil.py"}),
        ("plan", {"study": "warmup", "scale": "smoke", "workload": "evil:workload"}),
        ("plan", {"study": "--workload=evil:workload", "scale": "smoke"}),
        ("plan", {"study": "warmup", "scale": "smoke --workload=evil:workload"}),
        ("plan", {"study": "warmup", "variation": {"settings": ["--workload=evil:workload"]}}),
        ("run", {"study": "evil.py", "budget_seconds": 5}),
        ("run", {"study": "warmup", "budget_seconds": 5, "workload": "evil:workload"}),
        ("verdicts", {"study": "evil.py"}),
        ("why", {"claim": "warmup.widens", "study": "evil.py"}),
        ("why", {"claim": "--study=evil.py"}),
        ("noise", {"runs": [sys.executable, "evil.py", "{seed}"]}),
        ("noise", {"runs": ["python3", "evil.py"]}),
        ("judge", {"runs": ["--claims=evil.py"], "claims": ["loss: b < a"]}),
        ("judge", {"runs": ["runs.csv"], "compare": "--page=evil.html"}),
    ],
)
def test_no_code_runs_unless_the_user_allowed_it(here: Agent, folder: Path, tool: str, arguments: dict[str, Any]) -> None:
    here.refused(tool, **arguments)
    assert not (folder / "ran").exists()


def test_code_runs_if_the_user_allowed_it(tmp_path: Path) -> None:
    """And a server as a client starts it listens on no port."""
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\nfrom folklore.studies.kit import compare\nPath(__file__).with_name('ran').touch()\n"
        'STUDY = compare({"momentum": 0.0}, {"momentum": 0.9}, metric="test_error", by=0.005, name="momentum_here",'
        ' labels=("plain", "heavy"), training={"optimizer": "sgd", "steps": 10})\n'
    )
    with agent(tmp_path, "--allow-code") as allowed:
        assert allowed.ask("verdicts", study="mine.py") == {"verdicts": []}
        assert (tmp_path / "ran").exists()
        (server,) = inheriting(VARIABLE, tmp_path)
        assert not server.net_connections(kind="inet")


def test_standard_output_is_the_protocol_and_nothing_else(folder: Path) -> None:
    """By the older handshake, without the package's client, of calls that print and that fail, in a folder whose modules take
    libraries' names; and the end of standard input is the end of the server."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    calls = [
        ("list_studies", {}),
        ("plan", {"study": "warmupp"}),
        ("no_tool", {}),
        ("verdicts", {"study": "evil.py"}),
    ]
    started = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        *(
            {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls, 1)
        ),
    ]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    server = subprocess.Popen(COMMAND, **pipes, cwd=folder, env=environment(folder / "store"))
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(spoken(*started) + b"this is no message\n")
    server.stdin.flush()
    answers: dict[int, Any] = {}
    while len(answers) <= len(calls):
        message = json.loads(server.stdout.readline())
        assert message["jsonrpc"] == "2.0"
        answers[message["id"]] = message
    rest, _ = server.communicate(timeout=HANG_SECONDS)
    assert rest == b""
    assert server.returncode == 0
    assert "warmup" in [row["study"] for row in answers[1]["result"]["structuredContent"]["studies"]]
    assert answers[2]["result"]["isError"]
    assert "no study named 'warmupp': did you mean 'warmup'?" in answers[2]["result"]["content"][0]["text"]
    assert "this server runs none" in answers[4]["result"]["content"][0]["text"]
    assert not (folder / "ran").exists()


def test_without_the_package_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("mcp.", "folklore.harness.use.agents.server"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert folklore_here("mcp", code=2).stderr == (
        "error: mcp is not installed, and this command needs it: `make setup EXTRAS=mcp`, or pip install"
        " 'folklore-harness[mcp]'\n"
    )


def test_progress_never_goes_back() -> None:
    reports: list[float] = []

    async def report(done: float, of: float, message: str) -> None:
        reports.append(done)

    async def hear() -> None:
        events = RunEvents(report)
        for done in (1.0, 3.0, 2.5, 3.0, 4.0):
            fields = {"trials_done": done, "trials": 5, "packs_done": 0, "packs": 1, "seconds_left": None}
            await events.hear(json.dumps({"event": "progress", **fields}))

    anyio.run(hear)
    assert reports == [1.0, 3.0, 4.0]


def test_a_failure_s_code_is_one_for_scripts_and_its_line_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = Tools(str(tmp_path), allow_code=False).list_studies
    body = "import sys; print({!r}); print('a warning\\nerror: the store is gone', file=sys.stderr); sys.exit(1)"
    monkeypatch.setattr(commands, "FOLKLORE", (sys.executable, "-c", body.format("[]")))
    assert anyio.run(call).studies == []
    monkeypatch.setattr(commands, "FOLKLORE", (sys.executable, "-c", body.format("")))
    with pytest.raises(ToolError, match=r"^the store is gone$"):
        anyio.run(call)


STUBBORN = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
YIELDING = "import time; print('up', flush=True); time.sleep(600)"


@pytest.mark.parametrize("body", [STUBBORN, YIELDING])
def test_what_takes_too_long_is_stopped_even_if_it_hears_no_interrupt(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "FOLKLORE", (sys.executable, "-c", body))
    monkeypatch.setattr(commands, "GRACE_SECONDS", 0.5)

    async def hear(line: str) -> None:
        assert line == "up\n"

    call = partial(commands.folklore, ["run"], {VARIABLE: str(tmp_path)}, 3.0, hear)
    with pytest.raises(ToolError, match="run took longer than 3 s and was stopped; what is finished is kept"):
        anyio.run(call)
    assert wait_until_gone(VARIABLE, tmp_path, (), seconds=10) == []


@pytest.mark.slow
def test_a_run_tells_its_progress_and_trains_nothing_twice(tmp_path: Path, ray_address: str) -> None:
    (tmp_path / "folklore.toml").write_text(f'address = "{ray_address}"\nworkers = 1\n')
    wanted = {"study": "edge_of_stability", "scale": "smoke", "variation": TWO_TRIALS, "budget_seconds": 300}
    heard: list[Progress] = []
    with agent(tmp_path) as training:
        run = training.call("run", heard.append, **wanted)
        assert run.structured_content is not None, run.content
        first, again = dict(run.structured_content), training.ask("run", **wanted)
        assert training.ask("plan", study=first["study"], scale="smoke")["trials_left"] == 0
    assert (first["trained"], first["trials"], first["unfinished"]) == (2, 2, False)
    assert (again["trained"], again["unfinished"]) == (0, False)
    assert any("seeds = 1, where the study has 2" in departure for departure in first["departures"])
    assert {verdict["study"] for verdict in first["verdicts"]} == {first["study"]}
    assert all(Path(page).is_file() for page in first["pages"])
    assert heard[-1][:2] == (2, 2)
    assert "packs finished" in (heard[-1][2] or "")


@pytest.mark.slow
def test_a_call_that_is_cancelled_leaves_nothing_running_and_a_ledger_that_resumes(tmp_path: Path) -> None:
    """Also if the client leaves in the middle of it; and a second run beside the first is refused."""
    (tmp_path / "folklore.toml").write_text("workers = 1\nlanes = 1\n")  # 42 packs, one after another
    some: dict[str, Any] = {"study": "warmup", "scale": "smoke"}
    wanted = {**some, "budget_seconds": 600}

    def training(server: Agent) -> "Future[Any]":
        """A call whose run has finished a pack."""
        one_pack = threading.Event()

        def hear(progress: Progress) -> None:
            if not (progress[2] or "").startswith("0 of"):
                one_pack.set()

        call = server.portal.start_task_soon(partial(server.call_async, "run", hear, **wanted))
        assert one_pack.wait(HANG_SECONDS)
        return call

    with agent(tmp_path) as server:
        cancelled = training(server)
        refused = server.refused("run", **wanted)
        cancelled.cancel()
        assert wait_until_gone(VARIABLE, tmp_path, (*AGENTS, " ".join(COMMAND)), seconds=60) == []
        first = server.ask("plan", **some)
        deserted = training(server)
    for call, error in ((cancelled, CancelledError), (deserted, MCPError)):
        with pytest.raises(error):
            call.result()
    assert wait_until_gone(VARIABLE, tmp_path, AGENTS, seconds=60) == []
    assert "another run is training" in refused
    with agent(tmp_path) as resuming:
        second = resuming.ask("plan", **some)
        assert 0 < second["trials_left"] < first["trials_left"] < second["trials"]
        rest = resuming.ask("run", **wanted)
    assert rest["trained"] == second["trials_left"]
    assert not rest["unfinished"]
