"""Detectors of loss spikes: where they give alarms, at equal false alarms too, whether the gradient norm's come before the
loss's, and whether spikes come again where another run goes on beside."""

from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...harness.declare.configuration import Training
from ...harness.declare.curves.roughness import SPIKE_WINDOW
from ...harness.declare.metrics.detectors import RULES, WORDS, Detector
from ...harness.declare.metrics.estimating.weighted import seed_mean, settings_of, stacked, training_of
from ...harness.declare.metrics.functions import metric, share_of_runs
from ...harness.declare.observed import ARM, ArmName, FactorName, ObservedArm, OfLosses
from ...harness.declare.trials import ADD_SEEDS, NotEstimableError, Numbers, Trials

Flags = NDArray[np.bool_]
Where = Literal["at_fault", "after_fault", "elsewhere", "before_explosion"]
LOSSES, NORMS = "curve_train_loss", "curve_train_gradient_norm"
# Steps after a fault that an alarm may come late by, and steps before an explosion that it may come early by.
LATE, EARLY = 10, 50
# Steps that what happens elsewhere is away from a fault.
AWAY = 50
# A run has learnt something below this share of its first loss, and explodes where it comes back above that loss.
LEARNT = 0.8
# From this step on every detector has the steps before that it needs, and alarms count.
FIRST = 128
# Steps without an alarm before one that begins a spike, and before a spike that trouble begins with.
QUIET, LONG_QUIET = 10, 50
# Losses whose mean is lowest where trouble begins.
SMOOTH = 9
EXAMPLE = {"arm": "hit", "sound": "trained_once", "rule": "loss_ratio", "where": "at_fault"}


def with_spikes(*steps: int) -> list[float]:
    """Losses of a run that is planted."""
    return [1.1 if step in steps else 1.0 for step in range(200)]


def planted(*losses: list[float]) -> dict[str, list[list[float]]]:
    """Columns of runs with these losses."""
    return {"curve_train_loss": [*losses], "curve_train_gradient_norm": [[1.0] * len(run) for run in losses]}


def exploding(*norms: int) -> dict[str, list[list[float]]]:
    """Columns of runs whose loss rises at step 150 and is back above its start at step 180; each norm is too large once."""
    losses = [2.0, *[1.0] * 149, *[1.5] * 30, *[3.0] * 20]
    return {
        "curve_train_loss": [losses for _ in norms],
        "curve_train_gradient_norm": [[5.0 if step == norm else 1.0 for step in range(200)] for norm in norms],
    }


# The fault is at step 100, and what goes on begins there.
SETTINGS = {
    "hit": {"steps": 200, "fault": "labels"},
    "trained_once": {"steps": 200},
    "goes_on": {"steps": 100, "warmup_fraction": 0.0, "starts_from": "trained_once", "start_fraction": 0.5},
}
HIT = {"hit": planted(with_spikes(105), with_spikes(170, 190)), "trained_once": planted(with_spikes(), with_spikes())}

SoundArm = Annotated[ObservedArm, Field(description="the arm without a fault that limits are set by")]
SecondSoundArm = Annotated[
    ArmName | None,
    ARM,
    Field(description="another arm without a fault, whose steps count for the limits as well"),
]
Scored = Annotated[Detector, Field(description=f"what is scored; {WORDS}")]
WhereRight = Annotated[
    Literal["at_fault", "before_explosion"],
    Field(
        description="where an alarm is right; at_fault: from the first faulty step to the tenth after the last one;"
        " before_explosion: in the 50 steps before the loss comes back above the one it began with, or is not finite"
    ),
]
PerThousand = Annotated[float, Field(gt=0, lt=1000, description="false alarms in a thousand steps of sound runs")]
RuleOfNorms = Annotated[
    Literal["zclip", "robust_norm", "norm_ratio"],
    Field(description=f"how the gradient norm is scored, and the loss in the same way; {WORDS}"),
]
Trouble = Annotated[
    Literal["explosion", "spike"],
    Field(
        description="explosion: from the first of the nine losses whose mean is lowest until a loss is back above the first"
        " one of all, or not finite; spike: the ten steps on either side of the first loss six robust deviations above the"
        " median of 50 before it, after 50 steps without one; that loss is the loss's alarm"
    ),
]
StepsEarly = Annotated[
    int, Field(ge=0, description="explosion: from how many steps before the lowest mean of losses alarms count")
]


def by_rule(metric: Any) -> OfLosses:
    return "divides" if metric.rule in ("loss_ratio", "norm_ratio") else "no zero"


@share_of_runs(
    unit="share of the seeds, 0 to 1",
    of_losses="no zero",
    at_one_point=True,
    counts_every_seed=True,
    figure="forest",
    settings=lambda metric: settings_of(NORMS.removeprefix("curve_")),
    example={"arm": "hit", "rule": "spike", "where": "at_fault"},
    planted=(HIT, 0.5, SETTINGS),
)
def alarm_rate(
    trials: Trials,
    arm: ObservedArm,
    rule: Annotated[Detector, Field(description=f"what gives an alarm above its published limit; {WORDS}")],
    where: Annotated[
        Where,
        Field(
            description="at_fault: from the first faulty step to the tenth after the last one; after_fault: these ten;"
            " elsewhere: 50 steps and more away from the fault; before_explosion: in the 50 steps before the loss comes back"
            " above the one it began with, or is not finite"
        ),
    ],
    over: FactorName = "peak_lr",
) -> tuple[int, int]:
    """Share of the seeds in which a rule gives an alarm in a part of the run. Of an arm that is trained at one point. A run
    that does not explode has no step before that, and counts as one without an alarm there."""
    losses, norms, training = every_step(arm, over, trials)
    detector = RULES[rule]
    alarmed = (detector.score(losses, norms) > detector.limit) & within(where, losses, training)
    return int(alarmed.any(axis=1).sum()), len(alarmed)


def every_step(arm: str, over: str, trials: Trials) -> tuple[Numbers, Numbers, Training]:
    """Losses and gradient norms [S, steps], and what is trained. Raises NotEstimableError where a curve lacks a step."""
    if len(grid := trials.grid(arm, over)) > 1:
        raise NotEstimableError("open", f"{trials.arm_name(arm)} is trained at {len(grid)} values, and one is read")
    training = training_of(arm, over, trials)
    losses, norms = (trials.values(arm, over, column) for column in (LOSSES, NORMS))
    if any(curve is None or len(curve) != training.steps for curve in (*losses[0], *norms[0])):
        raise NotEstimableError(
            "invalid",
            f"not every step of {trials.arm_name(arm)} was kept",
            "the study has to set measurement.curve_points to its steps, and measurement.gradient_norms",
        )
    return stacked(losses)[0], stacked(norms)[0], training


def within(where: Where, losses: Numbers, training: Training) -> Flags:
    """Which steps are of that part of a run, [S, steps]."""
    steps, faulty = np.arange(losses.shape[1]), training.faulty_steps
    if where == "before_explosion":
        ends = [explosion(run) or -1 for run in losses]
        return np.array([(steps >= end - EARLY) & (steps < end) for end in ends])
    if where == "at_fault":
        flags = (steps >= faulty.start) & (steps < faulty.stop + LATE)
    elif where == "after_fault":
        flags = (steps >= faulty.stop) & (steps < faulty.stop + LATE)
    else:
        flags = (steps < faulty.start - AWAY) | (steps >= faulty.stop + AWAY)
    return np.broadcast_to(flags, losses.shape)


def explosion(losses: Numbers) -> int | None:
    """The first step at which a loss that had learnt something is back above its first one, or not finite; None: never."""
    learnt = np.flatnonzero(losses < LEARNT * losses[0])
    if not len(learnt):
        return None
    back = np.flatnonzero(~(losses[learnt[0] :] <= losses[0]))
    return int(learnt[0] + back[0]) if len(back) else None


def limits(scores_ST: Numbers, weights_RS: Numbers, per_thousand: float) -> Numbers:
    """[R]: what no more than this many in a thousand steps score above, each run's counted as often as its weight says."""
    steps = scores_ST.shape[1]
    order = np.argsort(-scores_ST, axis=None)
    allowed_R1 = per_thousand / 1000 * steps * weights_RS.sum(axis=1, keepdims=True)
    count = 2 * int(allowed_R1.max()) + steps
    # Only the highest scores are ranked; more of them where a resample has few of their runs.
    while True:
        counted_RC = np.cumsum(weights_RS[:, order[:count] // steps], axis=1)
        if count >= len(order) or (counted_RC[:, -1:] > allowed_R1).all():
            return np.asarray(scores_ST.ravel()[order[(counted_RC <= allowed_R1).sum(axis=1)]])
        count *= 2


def sound_scores(sound: str, over: str, rule: Detector, trials: Trials, of_losses: bool = False) -> Numbers:
    """The scores of runs without a fault, [S, steps from FIRST on]. of_losses: by a rule of norms, of the losses in their
    place."""
    losses, norms, training = every_step(sound, over, trials)
    if training.steps <= FIRST:
        raise NotEstimableError("out of regime", f"detectors are compared from step {FIRST} on, and no run is as long")
    return RULES[rule].score(*((norms, losses) if of_losses else (losses, norms)))[:, FIRST:]


def alarms(
    arm: str, sound: tuple[str, ...], rule: Detector, per_thousand: float, over: str, trials: Trials, of_losses: bool = False
) -> Flags:
    """Alarms of an arm's runs, [S, steps]. A run's limit is that of the sound runs of the other seeds."""
    sound_ST = np.hstack([sound_scores(sound_arm, over, rule, trials, of_losses) for sound_arm in sound])
    limits_S = limits(sound_ST, 1.0 - np.eye(trials.seeds), per_thousand)
    losses, norms, _ = every_step(arm, over, trials)
    scores_ST = RULES[rule].score(*((norms, losses) if of_losses else (losses, norms)))
    return np.asarray(scores_ST > limits_S[:, None])


@share_of_runs(
    unit="share of the seeds, 0 to 1",
    of_losses=by_rule,
    at_one_point=True,
    figure="detectors",
    example=EXAMPLE,
    planted=(HIT, 0.5, SETTINGS),
)
def detected_share(
    trials: Trials,
    arm: ObservedArm,
    sound: SoundArm,
    rule: Scored,
    where: WhereRight,
    per_thousand: PerThousand = 1.0,
    over: FactorName = "peak_lr",
    but_not: Annotated[
        Detector | None, Field(description="a second detector, and only runs that one of the two finds count")
    ] = None,
) -> tuple[int, int]:
    """Share of the runs that a detector gives a right alarm in: its recall. but_not: of the runs in which only one of two
    detectors does, the share in which it is this one (as McNemar 1947 tests)."""
    losses, _, training = every_step(arm, over, trials)
    right = within(where, losses, training)
    detected = (alarms(arm, (sound,), rule, per_thousand, over, trials) & right).any(axis=1)
    if but_not is None:
        return int(detected.sum()), trials.seeds
    other = (alarms(arm, (sound,), but_not, per_thousand, over, trials) & right).any(axis=1)
    if not (detected ^ other).any():
        raise NotEstimableError("open", "both detectors find the same runs", ADD_SEEDS)
    return int((detected & ~other).sum()), int((detected ^ other).sum())


class Asked(NamedTuple):
    """Fields of a metric that compares alarms of the gradient norm with those of the loss."""

    arm: str
    sound: str
    and_sound: str | None
    rule: Detector
    trouble: str
    early: int
    per_thousand: float
    over: str


def first_alarms(asked: Asked, trials: Trials) -> tuple[Numbers, Numbers]:
    """The step of the first alarm of the gradient norm in each run's trouble, and that of the loss, [S]; inf: there is none;
    nan: of a run that gets into none."""
    losses, _, _ = every_step(asked.arm, asked.over, trials)
    sound = tuple(arm for arm in (asked.sound, asked.and_sound) if arm)
    alarms_of = partial(alarms, asked.arm, sound, asked.rule, asked.per_thousand, asked.over, trials)
    if asked.trouble == "spike":
        loss_ST = _spikes(losses, LONG_QUIET)
        loss_ST[:, :FIRST] = False
        spans = [range(step - QUIET, step + QUIET + 1) if step else None for step in loss_ST.argmax(axis=1)]
    else:
        loss_ST = alarms_of(of_losses=True)
        spans = [_trouble(run, asked.early) for run in losses]
    return _firsts(alarms_of(), spans), _firsts(loss_ST, spans)


def _trouble(losses: Numbers, early: int) -> range | None:
    """From the first of the losses whose mean is lowest, or some steps before, to an explosion."""
    if (end := explosion(losses)) is None:
        return None
    lowest = int(np.convolve(losses[:end], np.ones(SMOOTH), "valid").argmin())
    return range(max(0, lowest - early), end)


def _firsts(alarms_ST: Flags, spans: list[range | None]) -> Numbers:
    return np.array([
        np.nan if span is None else next((step for step in span if step < len(run) and run[step]), np.inf)
        for run, span in zip(alarms_ST, spans, strict=True)
    ])  # fmt: skip


@share_of_runs(
    unit="share of the runs in trouble, 0 to 1",
    of_losses=by_rule,
    at_one_point=True,
    figure="forest",
    settings=lambda metric: settings_of(NORMS.removeprefix("curve_")),
    example={"arm": "hit", "sound": "trained_once"},
    planted=({**HIT, "hit": exploding(140, 160)}, 0.5, SETTINGS),
)
def warned_share(
    trials: Trials,
    arm: ObservedArm,
    sound: SoundArm,
    and_sound: SecondSoundArm = None,
    rule: RuleOfNorms = "zclip",
    trouble: Trouble = "explosion",
    early: StepsEarly = 0,
    counted: Annotated[
        Literal["norm_first", "loss_first", "norm"],
        Field(
            description="runs in which the norm's alarm comes before the loss's, or the other way, or in which it comes at all"
        ),
    ] = "norm_first",
    untied: Annotated[bool, Field(description="only of the runs in which one alarm comes before the other")] = False,
    per_thousand: PerThousand = 1.0,
    over: FactorName = "peak_lr",
) -> tuple[int, int]:
    """Of the runs that get into trouble, share in which the gradient norm gives an alarm before the loss does, both above
    limits at which sound runs give equally many. Alarms at one step, or none, are no warning."""
    norm, loss = first_alarms(Asked(arm, sound, and_sound, rule, trouble, early, per_thousand, over), trials)
    if np.isnan(norm).all():
        raise NotEstimableError("open", f"no run of {trials.arm_name(arm)} gets into trouble", ADD_SEEDS)
    is_counted = {"norm_first": norm < loss, "loss_first": loss < norm, "norm": np.isfinite(norm)}[counted]
    in_trouble = norm != loss if untied else ~np.isnan(norm)
    return int(is_counted.sum()), int((in_trouble & ~np.isnan(norm)).sum())


def leads(asked: Asked, trials: Trials) -> Numbers:
    """Steps from the norm's first alarm to the loss's, [S]; nan of a run that does not have both."""
    firsts = np.array(first_alarms(asked, trials))
    norm, loss = np.where(np.isinf(firsts), np.nan, firsts)
    return np.asarray(loss - norm)


def runs_with_both(metric: Any, trials: Trials) -> int:
    return int(np.isfinite(leads(Asked(*(getattr(metric, name) for name in Asked._fields)), trials)).sum())


@metric(
    unit="steps",
    of_losses=by_rule,
    at_one_point=True,
    no_effect=0.0,
    figure="forest",
    seeds_behind=runs_with_both,
    example={"arm": "hit", "sound": "trained_once"},
    planted=({**HIT, "hit": exploding(140, 154)}, 3.0, SETTINGS),
)
def alarm_lead(
    trials: Trials,
    weights: Numbers,
    arm: ObservedArm,
    sound: SoundArm,
    and_sound: SecondSoundArm = None,
    rule: RuleOfNorms = "zclip",
    trouble: Trouble = "explosion",
    early: StepsEarly = 0,
    per_thousand: PerThousand = 1.0,
    over: FactorName = "peak_lr",
) -> Numbers:
    """Steps by which the gradient norm's first alarm comes before the loss's in a run that gets into trouble, both above limits
    at which sound runs give equally many; mean of the runs with both. Limits stay those of all seeds."""
    lead = leads(Asked(arm, sound, and_sound, rule, trouble, early, per_thousand, over), trials)
    if not np.isfinite(lead).any():
        raise NotEstimableError("open", "there is no run with an alarm of the norm and one of the loss", ADD_SEEDS)
    return seed_mean(lead, weights)


@metric(
    unit="what the detector scores: a ratio, or deviations",
    of_losses=by_rule,
    at_one_point=True,
    log_axis=True,
    no_effect=1.0,
    figure="forest",
    example={"sound": "trained_once", "rule": "loss_ratio"},
    planted=({"trained_once": planted(with_spikes(150), with_spikes())}, 1.1, SETTINGS),
)
def alarm_limit(
    trials: Trials,
    weights: Numbers,
    sound: ObservedArm,
    rule: Scored,
    per_thousand: PerThousand = 1.0,
    over: FactorName = "peak_lr",
) -> Numbers:
    """The limit at which a detector gives this many alarms in a thousand steps of sound runs: what it has to be set to."""
    return limits(sound_scores(sound, over, rule, trials), weights, per_thousand)


@metric(
    unit="share of the spikes, 0 to 1",
    of_losses="no zero",
    at_one_point=True,
    bounds=(0.0, 1.0),
    figure="forest",
    example={"arm": "goes_on", "of": "trained_once"},
    planted=(
        {
            "trained_once": planted(with_spikes(120, 160, 180), with_spikes(170)),
            "goes_on": planted(with_spikes(165, 190)[100:], with_spikes(176)[100:]),
        },
        1 / 3,
        SETTINGS,
    ),
)
def spike_recurrence(
    trials: Trials,
    weights: Numbers,
    arm: Annotated[ObservedArm, Field(description="the arm that starts from a checkpoint")],
    of: Annotated[
        ObservedArm,
        Field(description="the arm whose spikes are looked for, after as many steps as that checkpoint has"),
    ],
    within_steps: Annotated[int, Field(ge=0, description="by how many steps both may differ")] = 5,
    other_seeds: Annotated[bool, Field(description="look at the runs of all other seeds: what chance comes to")] = False,
    over: FactorName = "peak_lr",
) -> Numbers:
    """Share of the spikes of one arm's runs at which runs that started from a checkpoint, and go on beside them, spike too: the
    experiment of Chowdhery et al. 2022 (PaLM, section 5.1). A spike is a loss six robust deviations above the median of the 50
    steps before it."""
    spikes_ST, again_ST = both(arm, of, over, trials)
    if not spikes_ST.any():
        raise NotEstimableError("open", f"{trials.arm_name(of)} has no spike to look for", ADD_SEEDS)
    # How many spikes of each run another one meets.
    met_SS = spikes_ST.astype(float) @ _spread(again_ST, within_steps).astype(float).T
    with np.errstate(invalid="ignore"):
        if other_seeds:
            others_RS = weights.sum(axis=1, keepdims=True) - weights
            met_RS = (weights @ (met_SS - np.diag(met_SS.diagonal())).T) / others_RS
        else:
            met_RS = np.broadcast_to(met_SS.diagonal(), weights.shape)
        return np.asarray((weights * met_RS).sum(axis=1) / (weights @ spikes_ST.sum(axis=1)))


def both(arm: str, of: str, over: str, trials: Trials) -> tuple[Flags, Flags]:
    """First steps of spikes, [S, steps], of the steps that both arms have and that have a window before them."""
    followed, _, whole = every_step(of, over, trials)
    losses, _, training = every_step(arm, over, trials)
    if training.starts_from is None:
        raise NotEstimableError("open", f"{trials.arm_name(arm)} starts from no checkpoint", "name one by starts_from")
    first = training.start_step(training_of(training.starts_from, over, trials).steps)
    if first + training.steps > whole.steps:
        ends_before = f"{trials.arm_name(of)} ends before {trials.arm_name(arm)}"
        raise NotEstimableError("open", ends_before, "give this one fewer steps")
    beside = slice(first + SPIKE_WINDOW, first + training.steps)
    return _spikes(followed)[:, beside], _spikes(losses)[:, SPIKE_WINDOW:]


def _spikes(losses_ST: Numbers, quiet: int = QUIET) -> Flags:
    """The first step of every spike: one after `quiet` steps without."""
    alarm_ST = RULES["spike"].score(losses_ST, losses_ST) > RULES["spike"].limit
    before = np.zeros_like(alarm_ST)
    for steps in range(1, quiet + 1):
        before[:, steps:] |= alarm_ST[:, :-steps]
    return np.asarray(alarm_ST & ~before)


def _spread(flags_ST: Flags, steps: int) -> Flags:
    """The flags, set also this many steps before and after."""
    spread_ST = flags_ST.copy()
    for shift in range(1, steps + 1):
        spread_ST[:, shift:] |= flags_ST[:, :-shift]
        spread_ST[:, :-shift] |= flags_ST[:, shift:]
    return spread_ST
