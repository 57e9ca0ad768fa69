"""The works that are measured: trainings of the named studies and of the sizes that users ask about, on each kind of device."""

from dataclasses import dataclass

from folklore.harness.declare import Configuration, Measurement, Training, Workload
from folklore.harness.plan.lanes import Shape
from folklore.harness.train.pack import Lane
from folklore.harness.train.workloads.data import Dataset, load

# The largest difference of a lane's training losses from those of the trial trained alone, over AGREEMENT_STEPS steps, with
# which its figures are taken to speak of the same computation: nats; sums in 16 bits round more.
AGREEMENT_STEPS = 40
AGREEMENT_NATS = {"fp32": 1e-3, "tf32": 1e-2, "bf16": 5e-2}


@dataclass(frozen=True)
class Work:
    """`trials` trainings of one shape that differ in LR and seed, `steps` steps each. lanes: fixed, else the engine chooses."""

    name: str
    workload: Workload
    training: dict[str, object]
    trials: int
    steps: int
    lanes: int | None = None

    def configuration(self, trial: int) -> Configuration:
        measurement = Measurement(probes=2, evaluations=2, evaluation_examples=64, final_examples=64)
        training = {"steps": self.steps, "peak_lr": 2.0 ** (-10 + trial % 5), **self.training}
        return Configuration(workload=self.workload, training=Training.model_validate(training), measurement=measurement)

    def lane(self, trial: int) -> Lane:
        return Lane(self.configuration(trial), trial)

    def shape(self) -> Shape:
        return Shape(self.configuration(0), self.workload.dataset, self.trials, self.steps, self.trials * self.steps)

    def dataset(self) -> Dataset:
        return load(self.workload.dataset)

    @property
    def tolerance_nats(self) -> float:
        return AGREEMENT_NATS[self.configuration(0).training.precision]


def gpt(width: int, depth: int, context: int, **more: int) -> Workload:
    return Workload(model="gpt", dataset="python-docs", width=width, depth=depth, context=context, **more)


def digits(model: str, width: int, depth: int) -> Workload:
    return Workload.model_validate({"model": model, "dataset": "digits", "width": width, "depth": depth})


SGD = {"optimizer": "sgd"}
WORKS = {
    "cpu": (
        Work("tiny MLP, SGD, B 16", digits("mlp", 32, 1), {**SGD, "batch_size": 16}, trials=64, steps=200),
        Work("MLP, AdamW, B 32", digits("mlp", 64, 2), {"batch_size": 32}, trials=64, steps=100),
        Work("GPT 33k, B 8", gpt(32, 2, 32), {"batch_size": 8}, trials=16, steps=60),
        Work("GPT 8k, B 64", gpt(16, 1, 16), {"batch_size": 64}, trials=16, steps=40),
        Work("GPT 430k, B 8", gpt(128, 2, 32), {"batch_size": 8}, trials=8, steps=40),
        Work("CNN, B 16", digits("cnn", 16, 2), {"batch_size": 16}, trials=16, steps=60),
        Work("CNN, B 64", digits("cnn", 16, 2), {"batch_size": 64}, trials=8, steps=40),
    ),
    "cuda": (
        Work("GPT 0.8M, B 16", gpt(128, 4, 64, heads=4), {"batch_size": 16, "precision": "tf32"}, trials=256, steps=200),
        Work("MLP on digits", digits("mlp", 64, 2), {**SGD, "batch_size": 32}, trials=1000, steps=300, lanes=1000),
        Work("CNN, B 32", digits("cnn", 32, 2), {"batch_size": 32}, trials=256, steps=200),
        Work(
            "GPT 100M, B 16", gpt(768, 14, 1024, heads=12), {"batch_size": 16, "precision": "bf16"}, trials=1, steps=60, lanes=1
        ),
    ),
}
