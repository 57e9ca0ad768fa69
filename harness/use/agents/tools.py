"""The tools: each is a command of `folklore`, with the command's limits. Their docstrings are what an agent reads of them."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from ...elsewhere.judge_runs import JudgedRunsResult
from ...elsewhere.noise import NoiseResult
from ...elsewhere.run_metric import SEED
from ...launch.facts import PlanFacts
from .arguments import Fields
from .commands import folklore
from .results import Columns, Explanations, Run, Studies, Verdicts
from .run_events import RunEvents

# Reading ends by itself long before; a run may need this beyond its budget, to start and to write pages.
LIMIT_SECONDS = 900.0
LONGEST_BUDGET = 7 * 24 * 3600

StudyName = Annotated[str, Field(description="a name from list_studies, or a .yaml or .json file")]
SomeStudy = Annotated[str | None, Field(description="as in list_studies; default: all, which is long")]
Scale = Annotated[
    str | None,
    Field(description="smoke (plumbing, never judged), laptop, workstation, gpu or cluster; default: fits this machine"),
]
Data = Annotated[Mapping[str, str] | None, Field(description="dataset a study names -> the one to use, e.g. text:/data/web")]
Workload = Annotated[
    str | None, Field(description="MODULE:ATTRIBUTE of an OwnWorkload; it is code, and needs a server with --allow-code")
]
StoredRuns = Annotated[
    Sequence[str], Field(min_length=1, description="as `folklore judge` takes them: files, folders, addresses of MLflow …")
]
Published = Annotated[bool, Field(description="from the evidence that comes with Folklore, not from what was run here")]


class Variation(Fields):
    """A study of its own name, which never counts as the declared one."""

    settings: list[str] = []
    """NAME=VALUE[,VALUE…]: values of a factor, or of another field for all arms"""
    seeds: int | None = None
    """fewer than 5 are never judged"""
    only: list[str] = []
    """arms to keep"""


class Tools:
    """allow_code: whether a call may name Python code, a study's .py file or a workload of one's own."""

    def __init__(self, store: str, allow_code: bool):
        self.environment = {"FOLKLORE_STORE": store}
        self.allow_code = allow_code
        self.training = anyio.Lock()

    async def list_studies(self) -> Studies:
        """The studies there are: names, questions, scales, and how many trials of each are stored here.

        Begin here. Whether advice on training holds may be published already: ask verdicts and why before you train.
        """
        return Studies.model_validate({"studies": await self._json("list")})

    async def plan(
        self,
        study: StudyName,
        scale: Scale = None,
        variation: Variation | None = None,
        data: Data = None,
        workload: Workload = None,
    ) -> PlanFacts:
        """The plan of a run: trials, time, memory, the recipe, and which effects its seeds can show. Trains nothing.

        Call it before run, and look at `power`: if the effect that you care for is smaller than `resolves`, the run will most
        likely end open, and an open verdict is no evidence that there is no effect. Ask for more seeds now rather than later.
        """
        options = self._study_options(study, scale, variation, data, workload)
        return PlanFacts.model_validate(await self._json("plan", *options, "--", study))

    async def run(
        self,
        context: Context[Any, Any],
        study: StudyName,
        budget_seconds: Annotated[
            int, Field(ge=1, le=LONGEST_BUDGET, description="training stops after this; see `unfinished`")
        ],
        scale: Scale = None,
        variation: Variation | None = None,
        data: Data = None,
        workload: Workload = None,
        until_decided: Annotated[bool, Field(description="add seeds at interim analyses that are planned beforehand")] = False,
        most_seeds: Annotated[int | None, Field(description="where until_decided ends; default: four times as many")] = None,
    ) -> Run:
        """The verdicts of a study, after training what is missing within a budget. Nothing is trained twice.

        Progress is reported as packs finish. When the budget ends or the call is cancelled, everything finished is kept, and
        the same call goes on; starting and writing pages come on top of the budget, up to a minute. One run at a time.

        Do not fool yourself. The declaration is stored before the first trial: decide what you ask before you run it. Do not
        change settings, seeds or scale until a claim is supported: each such run is another look, and one in twenty looks at
        noise finds something. If you may want more seeds, say until_decided in the first call, which pays for its looks.
        Report every run, also those that came out otherwise. A variation speaks for itself and not for the declared study,
        and a verdict holds for its scale.
        """
        options = self._study_options(study, scale, variation, data, workload)
        options += _options(budget=f"{budget_seconds}s", until_decided=until_decided, most_seeds=most_seeds)
        try:
            self.training.acquire_nowait()
        except anyio.WouldBlock:
            raise ToolError(
                "another run is training: two at once share the cores, and disturb what is timed; wait for it"
            ) from None
        try:
            return await self._run(context, ["run", "--json", *options, "--", study], budget_seconds + LIMIT_SECONDS)
        finally:
            self.training.release()

    async def verdicts(self, study: SomeStudy = None, scale: Scale = None, published: Published = False) -> Verdicts:
        """The verdicts on the claims of a study, with the sentence and the advice to take away, judged from stored trials.

        Cite a verdict with its scale and its cautions. "open" says that these seeds cannot tell, not that there is no effect;
        "supported" need not be firm: ask why before you rely on it.
        """
        self._require_no_code(study)
        rows = await self._json("verdicts", *_options(scale=scale, published=published), "--", *filter(None, [study]))
        return Verdicts.model_validate({"verdicts": rows})

    async def why(
        self,
        claim: Annotated[str, Field(description="a claim's id, as verdicts have it: warmup.widens")],
        study: SomeStudy = None,
        scale: Scale = None,
        published: Published = False,
    ) -> Explanations:
        """The grounds of a verdict: criteria with estimates and single seeds, what else would have changed it, firm or fragile.

        Call it before you act on a verdict. A fragile one turns with a single seed, another margin or a bound moved by a
        quarter: report it as such, with what it does not survive.
        """
        self._require_no_code(study)
        rows = await self._json("why", *_options(study=study, scale=scale, published=published), "--", claim)
        return Explanations.model_validate({"explanations": rows})

    async def noise(
        self,
        runs: StoredRuns,
        columns: Columns | None = None,
        differences: Annotated[
            Sequence[str], Field(description="seen by you: '0.003', '0.4%', or '0.4%@3' if with three runs an arm")
        ] = (),
    ) -> NoiseResult:
        """How far runs differ that share everything but the seed, the differences that this leaves visible, and seeds to add.

        Call it before you compare two runs: a difference below `visible` for that many seeds shows nothing, whatever its sign.
        It reads stored runs. Runs of a command are made by `folklore noise -- COMMAND` in a shell, not here.
        """
        self._require_stored(runs)
        asked = _options(**(columns or Columns()).model_dump(), difference=differences)
        return NoiseResult.model_validate(await self._json("noise", *asked, "--", *runs))

    async def judge(
        self,
        runs: StoredRuns,
        claims: Annotated[Sequence[str], Field(description="such as 'loss: b < a by 1%', 'loss: b = a within 1%'")] = (),
        compare: Annotated[str | None, Field(description="in place of claims: an arm to compare all others with")] = None,
        by: Annotated[str | None, Field(description="with compare: what counts as a difference, '1%' or '0.02'")] = None,
        better: Annotated[Literal["lower", "higher"] | None, Field(description="if the metric's name does not tell")] = None,
        also: Annotated[Sequence[str], Field(description="settings that may differ between the arms")] = (),
        item: Annotated[
            str | None, Field(description="of an eval: the column of its items (questions); rows are answers")
        ] = None,
        cluster: Annotated[str | None, Field(description="with item: the column of what items belong to (passages)")] = None,
        columns: Columns | None = None,
    ) -> JudgedRunsResult:
        """Verdicts on claims about runs that were trained elsewhere, after a check for what is wrong with them.

        Reads CSV, JSON lines, Parquet, MLflow, TensorBoard, W&B exports, Optuna storages, logs of trainers and evals. Write the
        claims, with the size that matters, before you look at the numbers; judge all claims in one call, for they are
        corrected for each other, and do not drop those that failed. `problems` and `read` say what was judged: check them. A
        verdict from one seed is never firm, and the best of many runs is not a run.
        """
        self._require_stored(runs)
        asked = _options(claim=claims, compare=compare, by=by, minimize=better == "lower", maximize=better == "higher")
        read = _options(also=also, item=item, cluster=cluster, **(columns or Columns()).model_dump())
        return JudgedRunsResult.model_validate(await self._json("judge", *asked, *read, "--", *runs))

    async def _run(self, context: Context[Any, Any], arguments: Sequence[str], seconds: float) -> Run:
        events = RunEvents(context.report_progress)
        ended = await folklore(arguments, self.environment, seconds, events.hear)
        if not events.has_finished:
            raise ToolError(ended.error)
        return events.result()

    async def _json(self, command: str, *arguments: str) -> Any:
        lines: list[str] = []

        async def keep(line: str) -> None:
            lines.append(line)

        ended = await folklore([command, "--json", *arguments], self.environment, LIMIT_SECONDS, keep)
        if ended.code not in (0, 1) or not "".join(lines).strip():  # 1 with an answer is for scripts
            raise ToolError(ended.error)
        return json.loads("".join(lines))

    def _study_options(
        self, study: str, scale: str | None, variation: Variation | None, data: Mapping[str, str] | None, workload: str | None
    ) -> list[str]:
        self._require_no_code(study, workload)
        varied, pairs = variation or Variation(), [f"{name}={dataset}" for name, dataset in (data or {}).items()]
        settings = _options(set=varied.settings, seeds=varied.seeds, only=varied.only)
        return settings + _options(scale=scale, data=pairs, workload=workload)

    def _require_stored(self, runs: Sequence[str]) -> None:
        """Raises ToolError for words of a command, which `folklore noise` would run."""
        if any(SEED in run for run in runs):
            raise ToolError(f"{' '.join(runs)}: holds {SEED}, so it is a command and no stored run; run it in a shell")

    def _require_no_code(self, study: str | None, workload: str | None = None) -> None:
        """Raises ToolError if the call names code, unless that is allowed."""
        named = workload or (study if study is not None and study.endswith(".py") else None)
        if named and not self.allow_code:
            raise ToolError(
                f"{named} is code, and this server runs none: start it with `folklore mcp --allow-code`, or use YAML"
            )


def _options(**options: str | int | bool | Sequence[str] | None) -> list[str]:
    """--name=value, each one argument, so that no value can be taken for an option; one argument for each of several values."""
    arguments = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif isinstance(value, str | int) and value is not False:
            arguments.append(f"{option}={value}")
        elif isinstance(value, Sequence):
            arguments += [f"{option}={text}" for text in value]
    return arguments
