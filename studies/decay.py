"""Which shape of decay, and how far down?"""

from folklore.harness.observables import Exact, FinalLoss, RelativeGap, TunedLoss
from folklore.harness.spec import (
    Arm,
    AtLeast,
    AtMost,
    Criterion,
    Judgement,
    Measurement,
    Outside,
    Published,
    Reported,
    Scale,
    Search,
    Study,
    Training,
    Within,
    Workload,
)

# Steps at which 6992 parameters have seen 2, 5, 20 and 80 tokens each, at 256 tokens a step.
STEPS_2, STEPS_5, STEPS_20, STEPS_80 = {"steps": 55}, {"steps": 137}, {"steps": 546}, {"steps": 2185}
# From a peak LR so high that the validation loss no longer falls; the switch comes half-way.
PLATEAU = {"schedule": "step", "step_drops": (0.5,), "warmup_fraction": 0.02, "steps": 1048}
PLATEAU_LR = {"peak_lr": (2.0**-3.5,)}
# 0.3% of the loss does not matter; being better never refutes.
NO_WORSE = {"test": "no_worse", "null": 0.0, "margin": 0.003, "unit": "relative"}
HIGHER = {
    "null": 0.0,
    "claimed": AtLeast(value=0.0),
    "refuted": AtMost(value=0.0),
    "unit": "relative",
}

STUDY = Study(
    name="decay",
    version=1,
    title="Learning-rate decay",
    question="Which shape of decay, and how far down?",
    workload=Workload(model="gpt", dataset="python-docs", width=16, depth=1, heads=2, context=16),
    training=Training(
        optimizer="adamw", schedule="cosine", final_fraction=0.1, warmup_fraction=0.05, batch_size=16, beta2=0.95
    ),
    measurement=Measurement(probes=10, evaluations=20, evaluation_examples=128, final_examples=1024),
    arms={
        "cosine": Arm(label="cosine to 10%", panel="shape", settings={**STEPS_20}, searched=True),
        "linear": Arm(label="linear to 10%", panel="shape", settings={**STEPS_20, "schedule": "linear"}, searched=True),
        "step": Arm(label="step, x0.1 at 50% and 75%", panel="shape", settings={**STEPS_20, "schedule": "step"}, searched=True),
        "constant": Arm(label="constant", panel="shape", settings={**STEPS_20, "schedule": "constant"}, searched=True),
        "trapezoid": Arm(
            label="warmup, stable, decay",
            panel="shape",
            settings={**STEPS_20, "schedule": "warmup_stable_decay"},
            searched=True,
        ),
        "on_plateau": Arm(
            label="reduce on plateau",
            panel="shape",
            settings={**STEPS_20, "schedule": "reduce_on_plateau", "patience": 1, "evaluations": 40},
            searched=True,
        ),
        "zero_2": Arm(label="to 0%", panel="2 tokens a parameter", settings={**STEPS_2, "final_fraction": 0.0}, searched=True),
        "hundredth_2": Arm(
            label="to 1%", panel="2 tokens a parameter", settings={**STEPS_2, "final_fraction": 0.01}, searched=True
        ),
        "tenth_2": Arm(label="to 10%", panel="2 tokens a parameter", settings={**STEPS_2}, searched=True, reference=True),
        "third_2": Arm(
            label="to 30%", panel="2 tokens a parameter", settings={**STEPS_2, "final_fraction": 0.3}, searched=True
        ),
        "zero_5": Arm(label="to 0%", panel="5 tokens a parameter", settings={**STEPS_5, "final_fraction": 0.0}, searched=True),
        "hundredth_5": Arm(
            label="to 1%", panel="5 tokens a parameter", settings={**STEPS_5, "final_fraction": 0.01}, searched=True
        ),
        "tenth_5": Arm(label="to 10%", panel="5 tokens a parameter", settings={**STEPS_5}, searched=True, reference=True),
        "third_5": Arm(
            label="to 30%", panel="5 tokens a parameter", settings={**STEPS_5, "final_fraction": 0.3}, searched=True
        ),
        "zero_20": Arm(
            label="to 0%", panel="20 tokens a parameter", settings={**STEPS_20, "final_fraction": 0.0}, searched=True
        ),
        "hundredth_20": Arm(
            label="to 1%", panel="20 tokens a parameter", settings={**STEPS_20, "final_fraction": 0.01}, searched=True
        ),
        "third_20": Arm(
            label="to 30%", panel="20 tokens a parameter", settings={**STEPS_20, "final_fraction": 0.3}, searched=True
        ),
        "zero_80": Arm(
            label="to 0%", panel="80 tokens a parameter", settings={**STEPS_80, "final_fraction": 0.0}, searched=True
        ),
        "hundredth_80": Arm(
            label="to 1%", panel="80 tokens a parameter", settings={**STEPS_80, "final_fraction": 0.01}, searched=True
        ),
        "tenth_80": Arm(label="to 10%", panel="80 tokens a parameter", settings={**STEPS_80}, searched=True, reference=True),
        "third_80": Arm(
            label="to 30%", panel="80 tokens a parameter", settings={**STEPS_80, "final_fraction": 0.3}, searched=True
        ),
        # Equal seeds and equal steps up to the switch: three continuations of one plateaued run.
        "stay": Arm(label="x1", panel="from a plateau", settings={**PLATEAU, "step_factor": 1.0}, factors=PLATEAU_LR),
        "lower": Arm(label="x0.1", panel="from a plateau", settings={**PLATEAU, "step_factor": 0.1}, factors=PLATEAU_LR),
        "higher": Arm(label="x2", panel="from a plateau", settings={**PLATEAU, "step_factor": 2.0}, factors=PLATEAU_LR),
    },
    factors={},
    search=Search(low=2.0**-9, high=2.0**-2, rounds=3, proposals=4, seeds=3, first_seed=10_000),
    seeds=12,
    first_seed=300,
    scales={
        "smoke": Scale(
            description="plumbing in seconds, never judged",
            measurement={"probes": 2, "evaluations": 2, "evaluation_examples": 8, "final_examples": 16},
            arm_settings={
                "cosine": {"steps": 20},
                "linear": {"steps": 20},
                "step": {"steps": 20},
                "constant": {"steps": 20},
                "trapezoid": {"steps": 20},
                "on_plateau": {"steps": 20, "evaluations": 5},
                "zero_2": {"steps": 10},
                "hundredth_2": {"steps": 10},
                "tenth_2": {"steps": 10},
                "third_2": {"steps": 10},
                "zero_5": {"steps": 10},
                "hundredth_5": {"steps": 10},
                "tenth_5": {"steps": 10},
                "third_5": {"steps": 10},
                "zero_20": {"steps": 20},
                "hundredth_20": {"steps": 20},
                "third_20": {"steps": 20},
                "zero_80": {"steps": 20},
                "hundredth_80": {"steps": 20},
                "tenth_80": {"steps": 20},
                "third_80": {"steps": 20},
                "stay": {"steps": 20},
                "lower": {"steps": 20},
                "higher": {"steps": 20},
            },
            search={"rounds": 2, "proposals": 2, "seeds": 1},
            seeds=1,
            judged=False,
        ),
        "laptop": Scale(description="two CPU cores, at most five minutes of training"),
        "gpu": Scale(
            description="one GPU, about a minute: the same runs on more seeds, and a wider search",
            device="cuda",
            search={"proposals": 8, "seeds": 4},
            seeds=32,
            departures=("The search makes 24 proposals an arm on four seeds.",),
        ),
        "cluster": Scale(
            description="many GPUs, hours: a 0.8M-parameter GPT on web text, 2 to 80 tokens a parameter",
            device="cuda",
            workload={"dataset": "web-text", "width": 128, "depth": 4, "heads": 4, "context": 128},
            training={"batch_size": 64, "precision": "bf16"},
            measurement={"evaluation_examples": 512, "final_examples": 4096},
            arm_settings={
                "cosine": {"steps": 2100},
                "linear": {"steps": 2100},
                "step": {"steps": 2100},
                "constant": {"steps": 2100},
                "trapezoid": {"steps": 2100},
                "on_plateau": {"steps": 2100},
                "zero_2": {"steps": 210},
                "hundredth_2": {"steps": 210},
                "tenth_2": {"steps": 210},
                "third_2": {"steps": 210},
                "zero_5": {"steps": 525},
                "hundredth_5": {"steps": 525},
                "tenth_5": {"steps": 525},
                "third_5": {"steps": 525},
                "zero_20": {"steps": 2100},
                "hundredth_20": {"steps": 2100},
                "third_20": {"steps": 2100},
                "zero_80": {"steps": 8400},
                "hundredth_80": {"steps": 8400},
                "tenth_80": {"steps": 8400},
                "third_80": {"steps": 8400},
            },
            search={"proposals": 8, "seeds": 4},
            seeds=16,
            departures=(
                "0.8M parameters on web text; the search makes 24 proposals an arm on four seeds.",
                "That the plateau's LR makes a plateau was seen at laptop scale and is not known here.",
            ),
        ),
    },
    departures=(
        "At laptop and gpu scale a GPT of 6992 parameters, embeddings included, on one text of 0.5 MB: 80 tokens a parameter"
        " is about one pass.",
        "The LR of each arm is chosen by Optuna's TPE (at laptop scale by twelve proposals) on seeds of their own (there"
        " three). Intervals hold the spread between the judged seeds, not the luck of the search.",
        "The plateau experiment has one peak LR, chosen in a pilot because the loss no longer falls there: a plateau of"
        " gradient noise. No other kind of plateau is studied.",
    ),
    revised=(
        "Linear and trapezoid decay are asked whether they are no worse, where equality within 0.3% was asked: by that,"
        " trapezoid decay would be refuted for it is better, and linear decay open. Nulls, and panels by length of run."
    ),
    answer=("decay.trapezoid", "decay.cosine_vs_linear", "decay.cosine_vs_step", "decay.plateau_rule"),
    judgements=(
        Judgement(
            claim="decay.cosine_vs_linear",
            criteria=(
                Criterion(
                    name="tuned loss, linear against cosine, both to 10%, 20 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="linear"), right=TunedLoss(arm="cosine")),
                    says="Linear decay to 10% of the peak ends {higher} in loss than cosine decay",
                    **NO_WORSE,
                ),
            ),
            note="Non-inferiority: a linear decay that is better does not speak against it.",
            advice={
                "supported": "Choose linear or cosine decay as you like: linear costs no measurable loss here.",
                "refuted": "Prefer cosine decay to linear decay.",
            },
        ),
        Judgement(
            claim="decay.cosine_vs_step",
            criteria=(
                Criterion(
                    name="tuned loss, step decay against cosine",
                    observe=RelativeGap(left=TunedLoss(arm="step"), right=TunedLoss(arm="cosine")),
                    says="Step decay ends {higher} in loss than cosine decay",
                    **HIGHER,
                ),
            ),
            advice={
                "supported": "Prefer cosine decay to a step schedule with drops at 50% and 75%.",
                "refuted": "Use step decay if it is at hand: cosine decay lowers no loss.",
                "refuted: opposite": "Prefer step decay to cosine decay.",
            },
        ),
        Judgement(
            claim="decay.beats_constant",
            criteria=(
                Criterion(
                    name="tuned loss, constant against cosine",
                    observe=RelativeGap(left=TunedLoss(arm="constant"), right=TunedLoss(arm="cosine")),
                    says="A constant learning rate, tuned, ends {higher} in loss than cosine decay",
                    **HIGHER,
                ),
            ),
            advice={
                "supported": "Decay the learning rate even if its peak is tuned.",
                "refuted": "If the learning rate is tuned, do not expect decay to lower the loss.",
                "refuted: opposite": "If the learning rate is tuned, keep it constant in a run as short as these.",
            },
        ),
        Judgement(
            claim="decay.final_positive",
            right={"supported": "10%", "refuted": "zero"},
            criteria=(
                Criterion(
                    name="tuned loss, to zero against to 10%, 2 tokens a parameter",
                    panel="runs of 2 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="zero_2"), right=TunedLoss(arm="tenth_2")),
                    says="At 2 tokens a parameter, cosine decay to zero ends {higher} in loss than to 10% of the peak",
                    **HIGHER,
                ),
                Criterion(
                    name="tuned loss, to zero against to 10%, 5 tokens a parameter",
                    panel="runs of 5 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="zero_5"), right=TunedLoss(arm="tenth_5")),
                    says="At 5 tokens a parameter, cosine decay to zero ends {higher} in loss than to 10% of the peak",
                    **HIGHER,
                ),
                Criterion(
                    name="tuned loss, to zero against to 10%, 20 tokens a parameter",
                    panel="runs of 20 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="zero_20"), right=TunedLoss(arm="cosine")),
                    says="At 20 tokens a parameter, cosine decay to zero ends {higher} in loss than to 10% of the peak",
                    **HIGHER,
                ),
                Criterion(
                    name="tuned loss, to zero against to 10%, 80 tokens a parameter",
                    panel="runs of 80 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="zero_80"), right=TunedLoss(arm="tenth_80")),
                    says="At 80 tokens a parameter, cosine decay to zero ends {higher} in loss than to 10% of the peak",
                    **HIGHER,
                ),
            ),
            reported=(
                Reported(
                    name="to 1% against to 10%, 2 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="hundredth_2"), right=TunedLoss(arm="tenth_2")),
                    unit="relative",
                ),
                Reported(
                    name="to 1% against to 10%, 5 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="hundredth_5"), right=TunedLoss(arm="tenth_5")),
                    unit="relative",
                ),
                Reported(
                    name="to 1% against to 10%, 20 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="hundredth_20"), right=TunedLoss(arm="cosine")),
                    unit="relative",
                ),
                Reported(
                    name="to 1% against to 10%, 80 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="hundredth_80"), right=TunedLoss(arm="tenth_80")),
                    unit="relative",
                ),
                Reported(
                    name="to 30% against to 10%, 2 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="third_2"), right=TunedLoss(arm="tenth_2")),
                    unit="relative",
                ),
                Reported(
                    name="to 30% against to 10%, 5 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="third_5"), right=TunedLoss(arm="tenth_5")),
                    unit="relative",
                ),
                Reported(
                    name="to 30% against to 10%, 20 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="third_20"), right=TunedLoss(arm="cosine")),
                    unit="relative",
                ),
                Reported(
                    name="to 30% against to 10%, 80 tokens a parameter",
                    observe=RelativeGap(left=TunedLoss(arm="third_80"), right=TunedLoss(arm="tenth_80")),
                    unit="relative",
                ),
            ),
            note=(
                "Each length of training stands for itself, as a workload would. The trend over tokens a parameter is the"
                " finding: short runs favour a positive final LR whatever the truth for long ones."
            ),
            advice={
                "supported": "In runs of up to 80 tokens a parameter, end the decay at about 10% of the peak, not at zero.",
                "partly": "Compare a decay to zero with one to 10% of the peak at the length of your own runs.",
                "refuted": "Decay to zero if you like: it costs no measurable loss here.",
                "refuted: opposite": "Decay to zero rather than to 10% of the peak.",
            },
        ),
        Judgement(
            claim="decay.half_way",
            criteria=(
                Criterion(
                    name="LR of the cosine schedule half-way, over the peak",
                    observe=Exact(check="cosine_half_way"),
                    claimed=Within(low=0.4999, high=0.5001),
                    refuted=Outside(low=0.4999, high=0.5001),
                    says="Half-way through a cosine decay to zero, the learning rate is {estimate} of its peak",
                    unit="share",
                ),
            ),
            note="Of a decay to zero without warmup. A decay to 10% stands at 55% half-way.",
            advice={
                "supported": "Expect half of the peak half-way through a decay to zero, and 55% with a floor of 10%.",
                "refuted": "Look at the schedule that your code computes before you compare runs half-way.",
            },
        ),
        Judgement(
            claim="decay.trapezoid",
            criteria=(
                Criterion(
                    name="tuned loss, warmup-stable-decay against cosine",
                    observe=RelativeGap(left=TunedLoss(arm="trapezoid"), right=TunedLoss(arm="cosine")),
                    says="Warmup, a constant stretch and a final decay end {higher} in loss than cosine decay",
                    **NO_WORSE,
                ),
            ),
            note="Non-inferiority: a trapezoid that is better does not speak against it.",
            advice={
                "supported": (
                    "If the length of the run is not known, keep the peak and decay at the end: no loss is seen from it."
                ),
                "refuted": "If the length of the run is known, prefer cosine decay to warmup-stable-decay.",
            },
        ),
        Judgement(
            claim="decay.plateau_rule",
            right={"supported": "lower"},
            criteria=(
                Criterion(
                    name="loss after staying against after x0.1, from one plateau",
                    observe=RelativeGap(left=FinalLoss(arm="stay"), right=FinalLoss(arm="lower")),
                    says="On a plateau, staying at the learning rate ends {higher} in loss than lowering it to a tenth",
                    **HIGHER,
                ),
                Criterion(
                    name="loss after x2 against after staying, from one plateau",
                    observe=RelativeGap(left=FinalLoss(arm="higher"), right=FinalLoss(arm="stay")),
                    says="On a plateau, doubling the learning rate ends {higher} in loss than staying",
                    **HIGHER,
                ),
                Criterion(
                    name="tuned loss, constant against reduce-on-plateau, which knows no horizon either",
                    observe=RelativeGap(left=TunedLoss(arm="constant"), right=TunedLoss(arm="on_plateau")),
                    says="A constant learning rate, tuned, ends {higher} in loss than reduce-on-plateau",
                    **HIGHER,
                ),
            ),
            reported=(
                Reported(
                    name="tuned loss, reduce-on-plateau against cosine",
                    observe=RelativeGap(left=TunedLoss(arm="on_plateau"), right=TunedLoss(arm="cosine")),
                    unit="relative",
                ),
            ),
            advice={
                "supported": "On a plateau of gradient noise, lower the learning rate and do not raise it.",
                "partly": "On a plateau, continue from a checkpoint with a tenth of the learning rate, and keep what helps.",
                "refuted": "Do not lower the learning rate only because the loss is flat.",
            },
        ),
    ),
    published=(
        Published(
            claim="decay.final_positive",
            finding=(
                "610M parameters, 20 tokens a parameter: linear to zero beats cosine to 10% by 0.77%; at 2 tokens it is worse,"
                " with a crossover near 4."
            ),
            source="Bergsma et al. 2025",
            link="https://arxiv.org/abs/2502.15938",
            how="reported",
        ),
        Published(
            claim="decay.cosine_vs_linear",
            finding="Linear is at least as good as cosine over ten problems.",
            source="Defazio et al. 2023",
            link="https://arxiv.org/abs/2310.07831",
            how="reported",
        ),
        Published(
            claim="decay.trapezoid",
            finding="Shapes of cooldown differ by 0.02 to 0.05 in perplexity, 1 - sqrt(t) ahead of linear, cosine and square.",
            source="comparison of cooldown shapes, secondary summary",
            how="reported",
        ),
    ),
)
