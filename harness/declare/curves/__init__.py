"""Every curve that a run leaves: those of all runs, and those that probes measure.

Columns of stored trials, what MLflow is given and what the engine records follow from here. Nothing here needs torch.
"""

from .curve import EVALUATION_STEP, PROBE_STEP, STEP, Curve
from .of_probes import OF_PROBES
from .token_groups import GROUPS

# The curves of every run, probed or not.
OF_EVERY_RUN = (
    Curve(STEP, "steps", "the last step of each bin of the run, from 1", None, place=0),
    Curve("train_loss", "nats", "training loss, mean over each bin", STEP, tracked="train/loss", place=1),
    Curve("lr", "", "learning rate, mean over each bin", STEP, tracked="train/lr", place=2),
    Curve(EVALUATION_STEP, "steps", "the steps after which the validation sample was passed over", None, place=3),
    Curve("evaluation_loss", "nats", "loss on the validation sample", EVALUATION_STEP, tracked="validation/loss", place=4),
    Curve(PROBE_STEP, "steps", "the probed steps", None, place=5),
    Curve(
        "train_loss_swing",
        "nats",
        "root mean square change of the training loss from a step to the next, in each bin",
        STEP,
        derived=True,
    ),
    Curve(
        "evaluation_accuracy",
        "",
        "share of the validation sample's targets that have the largest logit; of classes and tokens",
        EVALUATION_STEP,
        tracked="validation/accuracy",
    ),
    Curve(
        "evaluation_training_loss",
        "nats",
        "loss on fixed training examples, in eval mode",
        EVALUATION_STEP,
        tracked="train/evaluation_loss",
        setting="measurement.training_examples",
    ),
    Curve(
        "evaluation_training_accuracy",
        "",
        "share of the targets of fixed training examples that have the largest logit",
        EVALUATION_STEP,
        tracked="train/evaluation_accuracy",
        setting="measurement.training_examples",
    ),
    Curve(
        "evaluation_test_loss",
        "nats",
        "loss on fixed test examples",
        EVALUATION_STEP,
        tracked="test/loss",
        setting="measurement.test_examples",
    ),
    Curve(
        "evaluation_test_accuracy",
        "",
        "share of the targets of fixed test examples that have the largest logit",
        EVALUATION_STEP,
        tracked="test/accuracy",
        setting="measurement.test_examples",
    ),
    Curve(
        "evaluation_old_accuracy",
        "",
        "share of the test examples of all tasks before the one being trained that have the largest logit",
        EVALUATION_STEP,
        tracked="test/old_tasks_accuracy",
        setting="workload.tasks",
    ),
    Curve(
        "evaluation_new_accuracy",
        "",
        "share of the test examples of the task being trained that have the largest logit",
        EVALUATION_STEP,
        tracked="test/new_task_accuracy",
        setting="workload.tasks",
    ),
    Curve(
        "evaluation_old_loss",
        "nats",
        "loss on the test examples of all tasks before the one being trained",
        EVALUATION_STEP,
        tracked="test/old_tasks_loss",
        setting="workload.tasks",
    ),
    Curve(
        "evaluation_new_loss",
        "nats",
        "loss on the test examples of the task being trained",
        EVALUATION_STEP,
        tracked="test/new_task_loss",
        setting="workload.tasks",
    ),
    Curve(
        "train_gradient_norm",
        "",
        "norm of the gradient before clipping, mean over each bin",
        STEP,
        tracked="train/gradient_norm",
        setting="measurement.gradient_norms",
    ),
    Curve("train_loss_spikes", "", "share of each bin's steps whose training loss is a spike", STEP, derived=True),
    Curve("train_loss_rises", "", "share of each bin's steps whose training loss is above the last step's", STEP, derived=True),
)


def _in_order(curves: list[Curve]) -> tuple[Curve, ...]:
    names = [curve.name for curve in curves]
    assert len(set(names)) == len(names), f"two curves of one name: {sorted(names)}"
    return tuple(sorted(curves, key=lambda curve: (curve.across != "", curve.place is None, curve.place or 0, curve.name)))


# In the order of the columns: of lanes, then across layers and the like; each as first published, later ones by name.
CURVES = _in_order(
    [*OF_EVERY_RUN, *(group.curve for group in GROUPS), *(curve for curves in OF_PROBES.values() for curve in curves)]
)
# Curve -> the field of a configuration without which no run keeps it; '': all do.
SETTING_OF = {curve.name: curve.setting for curve in CURVES} | {
    curve.name: f"measurement.{setting}" for setting, curves in OF_PROBES.items() if setting for curve in curves
}
