"""Commands that read results: verdicts, and the way back from them to the trials."""

from typing import TYPE_CHECKING, Annotated

import typer

from ...plan.store.store import Store
from . import choices, completion
from .base import AsJson, ScaleName, SomeStudy, StoreUri, command
from .output import err, print_claims, print_json, print_verdicts, told

if TYPE_CHECKING:
    from ...judge.verdict import Verdict

FromPublished = Annotated[bool, typer.Option("--published", help="from the published evidence, not the store")]


@command(
    "verdicts",
    "folklore verdicts   # of all studies, from this store",
    "folklore verdicts warmup --published",
    "folklore verdicts warmup --scale laptop --json | jq '.[].verdict'",
)
def verdicts(
    study: SomeStudy = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    published: FromPublished = False,
    as_json: AsJson = False,
) -> None:
    """Judge stored trials again, and say in one sentence why."""
    chosen_studies = choices.some_studies(study, store, scale)
    from ...judge.trial_sets import stored_sets
    from ...judge.verdict_memory import judged_evidence
    from ...plan.store.ledger import Ledger
    from ..reading.stored_studies import readable_names

    all_verdicts: list[Verdict] = []
    tell = told("judged")
    for count, chosen in enumerate(chosen_studies, 1):
        if published:
            judged = [(trials.scale, trials.verdicts) for trials in judged_evidence(chosen)]
        else:
            sets = stored_sets(chosen, Ledger(Store(store), chosen.name), lambda at, device: scale in (None, at))
            judged = [(trial_set.scale, trial_set.verdicts()) for trial_set in sets]
        all_verdicts += [verdict for at, verdicts in judged if scale in (None, at) for verdict in verdicts]
        tell(count, len(chosen_studies))
    print_verdicts(all_verdicts, as_json, readable_names(chosen_studies))
    if not all_verdicts and not as_json:
        err.print("no stored trials to judge: run a study first, or judge the published evidence with --published")


@command(
    "compare",
    "folklore compare warmup@laptop:published warmup@laptop:stored   # did it come out again?",
    "folklore compare warmup@laptop warmup@gpu-cuda   # two scales, on two devices",
    "folklore compare warmup@laptop#1 warmup@laptop#2   # two versions, where the store has both",
    "folklore compare warmup warmup_varied_0123abcd --json   # a study and a variation of it",
)
def compare(
    left: Annotated[str, typer.Argument(metavar="A", help="STUDY[@SCALE[-DEVICE]][#VERSION][:stored|:published]")],
    right: Annotated[str, typer.Argument(metavar="B", help="the same")],
    store: StoreUri = "results",
    as_json: AsJson = False,
) -> None:
    """Two sets of trials claim by claim: verdicts, estimates, 95% intervals, and whether these overlap.

    A reference without a scale means the first that is judged; without a source, the store's trials, else published ones.
    """
    from ..reading.compare import compare as set_side_by_side
    from ..reading.references import Reference

    sides = [Reference.parse(reference).resolve(Store(store)) for reference in (left, right)]
    comparison = set_side_by_side(*sides)
    if as_json:
        print_json(comparison)
        return
    from .evidence_output import print_comparison

    print_comparison(comparison)


@command(
    "why",
    "folklore why warmup.widens",
    "folklore why warmup   # the claims of a study",
    'folklore why "does warmup help"   # the claims that a question is about',
    "folklore why warmup.widens --published --trials   # every digest it rests on",
    "folklore why my.claim --study my-study.yaml --scale laptop --json",
)
def why(
    claim: Annotated[
        str,
        typer.Argument(metavar="CLAIM", help="a claim's id, a study's name, or a question", autocompletion=completion.claims),
    ],
    study: Annotated[
        str | None,
        typer.Option("--study", help="judged by this study alone; default: by any", autocompletion=completion.studies),
    ] = None,
    scale: ScaleName = None,
    store: StoreUri = "results",
    published: FromPublished = False,
    every_trial: Annotated[bool, typer.Option("--trials", help="print every trial's digest")] = False,
    as_json: AsJson = False,
) -> None:
    """From a verdict back to its trials: the claim, its criteria, estimates, single seeds, how firm it is, and digests.

    Of a study's name, or a question that several claims answer, one line for each claim.
    """
    studies = choices.some_studies(study, store, claim=claim)
    from ..reading.asked_claims import claims_meant, in_brief

    meant = claims_meant(claim, studies)
    if len(meant) > 1:
        rows = [row for row in in_brief(Store(store), meant, studies, published) if scale in (None, row.scale)]
        (print_json if as_json else print_claims)(rows)
        return
    from ..reading.provenance import explain
    from ..reading.references import PUBLISHED

    (claim,) = meant or (claim,)
    explanations = explain(Store(store), claim, studies, scale, source=PUBLISHED if published else None)
    if as_json:
        print_json(explanations)
        return
    from .evidence_output import print_explanations

    print_explanations(explanations, every_trial)


@command("show", "folklore show 3f9a0c   # the beginning of a digest is enough", "folklore show 3f9a0c --json | jq .curves")
def show(
    trial: Annotated[str, typer.Argument(metavar="TRIAL", help="a trial's digest, or as much of it as is its own")],
    store: StoreUri = "results",
    as_json: AsJson = False,
) -> None:
    """One trial: configuration, outcome, losses, curves, machine. From this store, else from the published evidence."""
    from ..reading.provenance import find_trial, trial_facts

    facts = trial_facts(find_trial(Store(store), trial.strip().lower()))
    if as_json:
        print_json(facts)
        return
    from .evidence_output import print_trial

    print_trial(facts)
