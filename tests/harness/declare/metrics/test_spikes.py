"""Alarms at steps that are known beforehand, and the parts of a run that they are looked for in."""

import numpy as np
import pytest

from folklore.harness.declare import Study
from folklore.harness.declare.metrics.detectors import RULES, Detector
from folklore.harness.declare.trials import NotEstimableError
from folklore.harness.judge.observe import observe
from folklore.harness.judge.trial_arrays import TrialArrays
from folklore.studies.metrics.spikes import alarm_rate, explosion
from tests.harness.declare.metrics.planted import table_of_steps

STEPS, FAULTY = 300, 150
ARMS = {
    "sound": {"steps": STEPS, "batch_size": 3},
    "hit": {"steps": STEPS, "fault": "labels"},
    "explodes": {"steps": STEPS, "batch_size": 5},
}


def losses(arm: str, seed: int) -> np.ndarray:
    curve = 1 + 0.01 * np.random.default_rng(seed).standard_normal(STEPS)
    curve[0] = 3.0
    if arm == "hit" and seed % 2:
        curve[FAULTY + 2] = 2.5
    if arm == "explodes":
        curve[200:] = np.inf if seed % 2 else 10.0
    return curve


def norms(arm: str, seed: int) -> np.ndarray:
    """The norm of runs that explode is far too large once, 20 steps before."""
    curve = np.ones(STEPS)
    curve[180] = 5.0 if arm == "explodes" else 1.0
    return curve


@pytest.fixture(scope="module")
def table(study: Study) -> TrialArrays:
    return table_of_steps(study, ARMS, lambda trial: (losses(trial.arm, trial.seed), norms(trial.arm, trial.seed)))


@pytest.mark.parametrize(("arm", "rule", "where", "share"), [
    ("hit", "loss_ratio", "at_fault", "odd"),
    ("hit", "loss_ratio", "after_fault", "odd"),
    ("hit", "spike", "after_fault", "odd"),
    ("hit", "deviations", "at_fault", "odd"),
    ("hit", "loss_ratio", "elsewhere", 0.0),
    ("sound", "loss_ratio", "elsewhere", 0.0),
    ("explodes", "norm_ratio", "before_explosion", 1.0),
    ("explodes", "loss_ratio", "before_explosion", 0.0),
    ("sound", "norm_ratio", "before_explosion", 0.0),
])  # fmt: skip
def test_alarms_are_where_they_are(arm: str, rule: str, where: str, share: float | str, table: TrialArrays) -> None:
    expected = np.mean([seed % 2 for seed in table.seed_numbers]) if share == "odd" else share
    metric = alarm_rate(arm=arm, rule=rule, where=where)
    assert observe(metric, table).estimate == pytest.approx(expected)


def test_rules_are_those_of_the_engines_alarms() -> None:
    """The same steps, by plain NumPy and by the lanes' tensors."""
    import torch

    from folklore.harness.declare import Workload
    from folklore.harness.train.procedures.remedies import Remedies
    from tests.harness.train import contract

    generator = np.random.default_rng(1)
    loss, norm = (np.exp(0.3 * generator.standard_normal(STEPS)) for _ in range(2))
    loss[[140, 170, 171]] *= 6.0
    norm[200] *= 20.0
    looks = {**contract.FEW, "gradient_norms": True}
    mlp = Workload(model="mlp", dataset="digits", width=4, depth=1)
    alarms: tuple[Detector, ...] = ("loss_ratio", "deviations")
    for alarm in alarms:
        made = contract.pack(contract.lane(mlp, measurement=looks, steps=STEPS, remedy="skip", alarm=alarm))
        procedure = made.procedure
        assert isinstance(procedure, Remedies)
        procedure.losses_KS[0], procedure.norms_KS[0] = torch.from_numpy(loss).float(), torch.from_numpy(norm).float()
        engine = [bool(procedure._alarm(step)[0]) for step in range(STEPS)]
        rule = RULES[alarm]
        assert engine == (rule.score(loss, norm) > rule.limit).tolist()
        assert any(engine)


def test_an_explosion_is_where_a_loss_that_had_learnt_comes_back() -> None:
    assert explosion(np.array([3.0, 3.5, 2.0, 2.9, 3.1, 1.0])) == 4
    assert explosion(np.array([3.0, 2.0, np.nan])) == 2
    assert explosion(np.array([3.0, 2.9, 4.0])) is None
    assert explosion(np.array([3.0, 2.0, 2.5])) is None


def test_it_needs_every_step(study: Study) -> None:
    few = table_of_steps(study, ARMS, lambda trial: ([1.0], [1.0]))
    with pytest.raises(NotEstimableError, match=r"set measurement\.curve_points to its steps"):
        observe(alarm_rate(arm="sound", rule="spike", where="elsewhere"), few)
