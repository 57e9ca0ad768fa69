"""Twenty planted faults of the four kinds that matter: a verdict is wrong, a digest does not change with what it stands for, a
trial is lost, something leaks that must not. Nothing breaks loudly with any of them.

Plain data. A fault whose lines were rewritten is planted again; one whose test was moved names the new one. A fault that
matters more than one of these takes its place; all others are left to `make mutants`.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """file: where `old`, which stands there once, becomes `new`. test: the one that must fail, as pytest names it."""

    name: str
    file: str
    old: str
    new: str
    test: str

    @property
    def arguments(self) -> list[str]:
        """The arguments of pytest."""
        return [self.test]


HARNESS = "tests/harness/"
JUDGING, TRAINING, PLANNING = HARNESS + "judge/", HARNESS + "train/", HARNESS + "plan/"
OBSERVE = JUDGING + "test_observe.py::"

VERDICTS = (
    Fault(
        "being better refutes",
        "harness/declare/criterion.py",
        "return AtMost(value=high), AtLeast(value=high)",
        "return Within(low=low, high=high), Outside(low=low, high=high)",
        JUDGING + "test_outcomes.py::test_being_better_never_refutes",
    ),
    Fault(
        "the LR is chosen on the split it is judged on",
        "harness/declare/metrics/estimating/weighted.py",
        'best = mean(trials.losses(arm, over, "validation_loss"), weights).argmin(axis=1)',
        'best = mean(trials.losses(arm, over, "test_loss"), weights).argmin(axis=1)',
        OBSERVE + "test_the_lr_is_chosen_on_validation_and_judged_on_test",
    ),
    Fault(
        "a diverged run is dropped",
        "harness/plan/store/trial_rows.py",
        "| ~(loss < initial), initial, loss)",
        "| ~(loss < initial), np.nan, loss)",
        OBSERVE + "test_a_diverged_run_counts_with_its_loss_at_initialization",
    ),
    Fault(
        "no correction for several workloads",
        "harness/judge/statistics/combining.py",
        "len(ordered) / (index + 1) * p for",
        "p for",
        JUDGING + "test_combining.py::test_partial_conjunction_of_all_is_the_largest_and_of_one_is_simes",
    ),
    Fault(
        "twenty claims are each judged as if they were alone",
        "harness/elsewhere/judge_runs.py",
        "if verdict.verdict in DECIDED and q > ALPHA else verdict",
        "if each.verdict in DECIDED and each.p > ALPHA else each",
        HARNESS + "elsewhere/test_judge_runs.py::test_more_claims_ask_for_more",
    ),
    Fault(
        "a figure shows another interval than the one that decides",
        "reports/figures/frames.py",
        "(2 if criterion is not None and criterion.one_sided else 1)",
        "1",
        "tests/reports/figures/test_planted.py::test_a_row_is_the_interval_that_decides_and_its_seeds_lie_beside_it",
    ),
    Fault(
        "lanes see the batches of the first seed",
        "harness/train/procedures/plain.py",
        "[by_seed[seed] for seed in self.seeds]",
        "[by_seed[self.seeds[0]] for _ in self.seeds]",
        TRAINING + "test_contract.py::test_a_lane_is_what_it_is_alone_in_any_order_and_beside_one_that_is_lost[gpt]",
    ),
    Fault(
        "a mean of lane losses for their sum",
        "harness/train/workloads/network.py",
        "torch.autograd.grad(scaled_K.sum(), ",
        "torch.autograd.grad(scaled_K.mean(), ",
        TRAINING + "test_contract.py::test_a_lane_is_what_it_is_alone_in_any_order_and_beside_one_that_is_lost[gpt]",
    ),
)

DIGESTS = (
    Fault(
        "a hash without the region that refutes",
        "harness/declare/criterion.py",
        "    refuted: Rule = Field(\n",
        "    refuted: Annotated[Rule, WORDS] = Field(\n",
        HARNESS + "declare/test_spec.py::test_the_hash_covers_thresholds",
    ),
    Fault(
        "a digest without the data",
        "harness/plan/plan.py",
        "self.device, data_hash, identity, seed, *",
        "self.device, identity, seed, *",
        HARNESS + "test_properties.py::test_digests_know_nothing_of_packing_and_words",
    ),
    Fault(
        "a digest without that of the trial it starts from",
        "harness/plan/plan.py",
        "identity, seed, *digests[-1:]]",
        "identity, seed]",
        PLANNING + "test_starts.py::test_a_digest_includes_what_a_trial_starts_from_and_no_name",
    ),
    Fault(
        "verdicts are remembered whatever trials come",
        "harness/judge/verdict_memory.py",
        "beside = [_claims(study), trials, declared,",
        "beside = [_claims(study), declared,",
        JUDGING + "test_verdict_memory.py::test_it_forgets_when_trials_thresholds_evidence_or_statistics_change",
    ),
    Fault(
        "a threshold moves after the run",
        "studies/warmup.py",
        "        1.0,\n        0.3,\n",
        "        1.0,\n        0.4,\n",
        "tests/studies/test_sameness.py::test_it_says_what_it_said[warmup]",
    ),
)

LOST_TRIALS = (
    Fault(
        "a file is written in place",
        "harness/plan/store/store.py",
        'temporary = f"{path}.{uuid.uuid4().hex}.tmp"',
        "temporary = path",
        PLANNING + "store/test_store.py::test_a_write_that_fails_leaves_the_old_file_and_nothing_else",
    ),
    Fault(
        "a checkpoint without the optimizer's state",
        "harness/train/learner.py",
        '            **{f"optimizer.{name}": value for name, value in self.optimizer.state.items()},\n',
        "",
        TRAINING + "test_contract.py::test_an_interrupted_training_is_the_whole_one[gpt]",
    ),
    Fault(
        "a pack is marked as shown before MLflow has taken it",
        "harness/launch/tracking/live.py",
        "            tracker.record(trial_rows.frame(rows), self.run_id)\n",
        "            self.ledger.mark_projected(pack, tracker.identity)\n"
        "            tracker.record(trial_rows.frame(rows), self.run_id)\n",
        HARNESS + "launch/tracking/test_live.py::test_what_mlflow_did_not_take_is_not_marked_as_there",
    ),
    Fault(
        "a run that gave trials up ends well",
        "harness/use/run_studies.py",
        'code = INTERRUPTED if stopped else FAILED if launched.count("given_up") else FINE',
        "code = INTERRUPTED if stopped else FINE",
        HARNESS + "use/test_run_studies.py::test_a_run_that_gives_trials_up_fails",
    ),
)

LEAKS = (
    Fault(
        "test examples are trained on",
        "harness/train/workloads/data/text.py",
        "held_out = (position == VALIDATION_BLOCK) | (position == TEST_BLOCK)",
        "held_out = position == VALIDATION_BLOCK",
        TRAINING + "workloads/test_data.py::test_splits_partition_the_text",
    ),
    Fault(
        "attention sees later positions",
        "models/layers.py",
        "is_causal=True",
        "is_causal=False",
        "tests/models/test_gpt.py::test_no_position_sees_a_later_one",
    ),
    Fault(
        "a password stays in an address",
        "harness/errors.py",
        r'text = re.sub(r"(\w://)[^/@\s]*@", r"\1***@", text)',
        r'text = re.sub(r"(\w://)[^:/@\s]*@", r"\1***@", text)',
        HARNESS + "test_safety.py::test_addresses_are_shown_without_their_secrets",
    ),
)

FAULTS = (*VERDICTS, *DIGESTS, *LOST_TRIALS, *LEAKS)
