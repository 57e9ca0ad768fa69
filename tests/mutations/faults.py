"""The planted faults: what makes results wrong, lost, or untrue on a page without anything breaking loudly.

Plain data, a list to add to whenever such a fault was found. A fault whose lines were rewritten is planted again; one whose
test was moved names the new one.
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
    def room(self) -> str:
        """harness/train, models, reports; of a single module of the harness its own name."""
        folders = self.file.removesuffix(".py").split("/")
        return "/".join(folders[:2]) if folders[0] == "harness" else folders[0]


HARNESS = "tests/harness/"
JUDGING, METRICS = HARNESS + "judge/", HARNESS + "declare/metrics/"
TRAINING, STORING, PLANNING = HARNESS + "train/", HARNESS + "plan/store/", HARNESS + "plan/"
OBSERVE = JUDGING + "test_observe.py::"
SAFETY = HARNESS + "test_safety.py::"

ERRORS_AND_INPUT = (
    Fault(
        "a password stays in an address",
        "harness/errors.py",
        r'text = re.sub(r"(\w://)[^/@\s]*@", r"\1***@", text)',
        r'text = re.sub(r"(\w://)[^:/@\s]*@", r"\1***@", text)',
        SAFETY + "test_addresses_are_shown_without_their_secrets",
    ),
    Fault(
        "whoever asks is let in to MLflow",
        "harness/launch/tracking/guard.py",
        "self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())",
        "self.token is not None",
        HARNESS + "launch/tracking/test_guard.py::test_nobody_else_is_let_in",
    ),
    Fault(
        "artifacts lie anywhere",
        "harness/launch/tracking/guard.py",
        "path.is_absolute() and path.resolve().is_relative_to(folder.resolve())",
        "path.is_absolute()",
        HARNESS + "launch/tracking/test_guard.py::test_what_lies_below_a_folder",
    ),
    Fault(
        "an altered declaration is taken for what was declared",
        "harness/plan/store/declaration.py",
        "is not None and now != each.hash]",
        "is None]",
        HARNESS + "plan/store/test_declaration.py::test_a_threshold_moved_in_the_stored_declaration_shows",
    ),
    Fault(
        "a stored pack is trained again",
        "harness/launch/training_job.py",
        'self.recorded = not job.recorded or self.ledger.read(job.pack.key, ["digest"]) is not None',
        "self.recorded = False",
        HARNESS + "launch/test_training_job.py::test_a_pack_that_is_stored_is_not_trained_again",
    ),
    Fault(
        "a stopped worker is waited for without end",
        "harness/launch/standstill.py",
        "            raise StandstillError(",
        "            StandstillError(",
        HARNESS + "launch/test_standstill.py::test_a_line_when_nothing_moves_and_no_wait_without_end",
    ),
    Fault(
        "a file that names code imports it",
        "harness/train/workloads/own/finding.py",
        "    if address not in ASKED:\n",
        "    if False:\n",
        HARNESS + "test_malformed.py::test_a_file_that_names_code_imports_none",
    ),
    Fault(
        "what unpacks to too much is unpacked into memory",
        "harness/input_files.py",
        "        count += len(chunk)\n",
        "        count += 0\n",
        HARNESS + "train/workloads/test_data.py::test_a_text_that_unpacks_to_more_than_is_read",
    ),
    Fault(
        "all blocks of steps draw the same batches",
        "harness/randomness.py",
        "Philox(key=[key(seed, use), block])",
        "Philox(key=[key(seed, use), 0])",
        HARNESS + "train/workloads/test_data.py::test_batches_are_keyed_on_seed_and_draw",
    ),
)

MACHINE = (
    Fault(
        "the widest of nested limits counts",
        "harness/train/machine/control_groups.py",
        "return min((quota for quota in quotas",
        "return max((quota for quota in quotas",
        HARNESS + "train/machine/test_control_groups.py::test_the_narrowest_of_nested_groups_counts",
    ),
    Fault(
        "mebibytes are called megabytes",
        "harness/train/machine/load.py",
        "2**20 / 1e6",
        "1.0",
        HARNESS + "train/machine/test_load.py::test_every_gpu_is_told",
    ),
    Fault(
        "every worker counts on all memory",
        "harness/train/machine/description.py",
        '(1 if device.kind == "cuda" else device.count)',
        "1",
        HARNESS + "train/machine/test_control_groups.py::test_workers_and_memory_follow",
    ),
)

SPEC = (
    Fault(
        "seeds are searched on and judged on",
        "harness/declare/study.py",
        "shared = set(search.seed_numbers) & set(self.seed_numbers_at(scale)) if search else set()",
        "shared = set()",
        PLANNING + "test_proposals.py::test_seeds_of_search_and_judging_are_apart",
    ),
    Fault(
        "being better refutes",
        "harness/declare/criterion.py",
        "return AtMost(value=high), AtLeast(value=high)",
        "return Within(low=low, high=high), Outside(low=low, high=high)",
        JUDGING + "test_outcomes.py::test_being_better_never_refutes",
    ),
    Fault(
        "a hash without the region that refutes",
        "harness/declare/criterion.py",
        "    refuted: Rule = Field(\n",
        "    refuted: Annotated[Rule, WORDS] = Field(\n",
        HARNESS + "declare/test_spec.py::test_the_hash_covers_thresholds",
    ),
    Fault(
        "a misspelled field is ignored",
        "harness/declare/base.py",
        'extra="forbid"',
        'extra="ignore"',
        HARNESS + "declare/test_spec.py::test_specs_are_frozen_and_closed",
    ),
    Fault(
        "YAML makes objects",
        "harness/declare/study_file.py",
        "class _Loader(yaml.SafeLoader):",
        "class _Loader(yaml.UnsafeLoader):",
        HARNESS + "test_malformed.py::test_a_file_makes_no_object",
    ),
)

OWN = (
    Fault(
        "weights that were loaded have no part in the identity",
        "harness/train/workloads/own/identity.py",
        "{value.requires_grad} {held}",
        "{value.requires_grad}",
        HARNESS + "train/workloads/test_identity.py::test_what_stands_outside_the_sources_counts[settings2-what2]",
    ),
    Fault(
        "what a module computes has no part in the identity",
        "harness/train/workloads/own/identity.py",
        'return f"{loss:.{DIGITS}g}"',
        'return "computed"',
        HARNESS + "train/workloads/test_identity.py::test_what_stands_outside_the_sources_counts[settings0-what0]",
    ),
    Fault(
        "seeds that start alike are two",
        "harness/train/workloads/own/identity.py",
        "if trained and not drawn and not workload.one_start:",
        "if False:",
        HARNESS + "train/workloads/test_identity.py::test_seeds_that_start_alike_are_one_unless_that_is_meant",
    ),
    Fault(
        "parts of a batch weigh by their examples",
        "harness/train/workloads/own/network.py",
        "counts = (self.counts[each].sum(dim=axis) for each in (part, whole))",
        "counts = (torch.ones_like(self.counts[each]).sum(dim=axis) for each in (part, whole))",
        HARNESS + "train/test_own_kinds.py::test_parts_of_a_batch_weigh_by_what_the_loss_is_a_mean_of[a mean over tokens]",
    ),
    Fault(
        "a sum is descended as its mean",
        "harness/train/procedures/summed.py",
        "gradient_KP.mul_(self.network.counted(targets).unsqueeze(1))",
        "gradient_KP",
        HARNESS + "train/test_own_kinds.py::test_a_lane_is_what_a_plain_loop_makes_of_it[a sum]",
    ),
    Fault(
        "what a loss draws by NumPy is of no seed",
        "harness/train/workloads/own/keyed.py",
        "np.random.seed(key % 2**32)",
        "pass",
        HARNESS + "train/test_own_kinds.py::test_a_lane_is_what_a_plain_loop_makes_of_it[examples that are drawn again]",
    ),
    Fault(
        "a Fisher information counts all labels alike",
        "harness/train/procedures/consolidation.py",
        "torch.exp(-losses_K).unsqueeze(1) * gradient_KP.square()",
        "gradient_KP.square()",
        TRAINING + "test_tasks.py::test_the_fisher_information_is_that_of_its_definition",
    ),
    Fault(
        "examples of the new task are replayed",
        "harness/train/procedures/tasks.py",
        "np.concatenate(self.examples[:task])",
        "np.concatenate(self.examples[: task + 1])",
        TRAINING + "test_tasks.py::test_examples_are_of_the_task_and_a_share_of_earlier_ones",
    ),
    Fault(
        "the base goes on learning beside its adapters",
        "harness/train/procedures/tasks.py",
        "learns = is_adapter == (later and lane.workload.adapter_rank > 0)",
        "learns = True",
        TRAINING + "test_tasks.py::test_adapters_leave_what_they_adapt_and_learn_alone_later",
    ),
    Fault(
        "a skipped step leaves the optimizer's state changed",
        "harness/train/procedures/remedies.py",
        'return {"weights": network.flat_KP, **self.learner.optimizer.state, **buffers}',
        'return {"weights": network.flat_KP, **buffers}',
        TRAINING + "test_faults.py::test_a_skipped_step_leaves_no_trace",
    ),
    Fault(
        "a run is stopped where its test loss is lowest",
        "harness/declare/metrics/overfitting.py",
        "curves_of(arm, over, VALIDATION, trials).argmin(axis=1)",
        "curves_of(arm, over, TEST, trials).argmin(axis=1)",
        METRICS + "test_overfitting.py::test_a_run_is_stopped_where_its_own_validation_loss_is_lowest",
    ),
    Fault(
        "a warning comes after the explosion",
        "harness/declare/metrics/spikes.py",
        "(steps >= first) & (steps < explodes)",
        "(steps >= first)",
        METRICS + "test_spikes.py::test_alarms_are_where_they_are",
    ),
    Fault(
        "a detector's limit is set by the run's own seed, too",
        "harness/declare/metrics/detection.py",
        "1.0 - np.eye(trials.seeds)",
        "np.ones((trials.seeds, trials.seeds))",
        METRICS + "test_detectors.py::test_limits_are_set_by_other_seeds",
    ),
    Fault(
        "norms that stand out enter ZClip's averages whole",
        "harness/declare/metrics/detectors.py",
        "np.where(score > ZCLIP_LIMIT, clipped, norm)",
        "norm",
        METRICS + "test_detectors.py::test_zclip_is_the_papers",
    ),
    Fault(
        "what is learned by heart has diverged",
        "harness/train/procedures/plain.py",
        "pairs = zip(ENDS, (0, steps), strict=True) if self.diverges_in_training else ()",
        "pairs = ()",
        HARNESS + "train/test_own_kinds.py::test_a_run_diverges_where_its_training_loss_leaves_its_start_upwards",
    ),
    Fault(
        "copies may lie in two splits",
        "harness/train/workloads/data/examples.py",
        "len(splits[features[each].tobytes()]) == 1",
        "True",
        HARNESS + "train/workloads/test_images.py::test_copies_across_drawn_splits_are_trained_on",
    ),
    Fault(
        "a workload that was changed goes on under the old plan",
        "harness/train/workloads/own/finding.py",
        "if found.identity != planned.identity:",
        "if not found.identity:",
        HARNESS + "train/workloads/test_own_workload.py::test_a_change_makes_other_trials",
    ),
)

DATA = (
    Fault(
        "test examples are trained on",
        "harness/train/workloads/data/text.py",
        "held_out = (position == VALIDATION_BLOCK) | (position == TEST_BLOCK)",
        "held_out = position == VALIDATION_BLOCK",
        HARNESS + "train/workloads/test_data.py::test_splits_partition_the_text",
    ),
    Fault(
        "features are scaled by what is held out, too",
        "harness/train/workloads/data/examples.py",
        "mean, deviation = train.mean(), train.std()",
        "mean, deviation = features.mean(), features.std()",
        HARNESS + "train/workloads/test_images.py::test_digits_are_what_they_were",
    ),
    Fault(
        "a text's target is its last input",
        "harness/train/workloads/data/text.py",
        "return windows[..., :-1], windows[..., 1:]",
        "return windows[..., :-1], windows[..., :-1]",
        HARNESS + "train/workloads/test_data.py::test_a_target_is_the_token_that_follows",
    ),
)

ENGINE = (
    Fault(
        "a mean of lane losses for their sum",
        "harness/train/workloads/network.py",
        "torch.autograd.grad(scaled_K.sum(), ",
        "torch.autograd.grad(scaled_K.mean(), ",
        TRAINING + "test_contract.py::test_a_lane_is_what_it_is_alone_in_any_order_and_beside_one_that_is_lost[gpt]",
    ),
    Fault(
        "gradients stay as large as a loss scale makes them",
        "harness/train/workloads/network.py",
        "gradient_KP if scale_K is None else gradient_KP.div_(scale_K.unsqueeze(1))",
        "gradient_KP",
        TRAINING + "test_precision.py::test_a_scaled_loss_has_the_same_gradient",
    ),
    Fault(
        "a lane is clipped by the norm of all lanes",
        "harness/train/learner.py",
        "clip_factor(gradient_KP.norm(dim=1), ",
        "clip_factor(gradient_KP.norm().expand(len(gradient_KP)), ",
        TRAINING + "test_contract.py::test_a_lane_is_what_it_is_alone_in_any_order_and_beside_one_that_is_lost[gpt]",
    ),
    Fault(
        "clipping enlarges small gradients",
        "harness/train/clipping.py",
        ".clamp(max=1.0)",
        "",
        TRAINING + "test_optimizers.py::test_clipping_follows_torch_lane_by_lane",
    ),
    Fault(
        "a skipped update moves the moments",
        "harness/train/learner.py",
        "[] if moves is None else [parameters_KP, *self.optimizer.state.values()]",
        "[] if moves is None else [parameters_KP]",
        TRAINING + "test_precision.py::test_a_pack_follows_grad_scaler",
    ),
    Fault(
        "a loss scale grows a step late",
        "harness/train/loss_scaling.py",
        "grows = steps >= self.growth_interval",
        "grows = steps > self.growth_interval",
        TRAINING + "test_precision.py::test_the_scale_follows_grad_scaler",
    ),
    Fault(
        "a checkpoint without the optimizer's state",
        "harness/train/learner.py",
        '            **{f"optimizer.{name}": value for name, value in self.optimizer.state.items()},\n',
        "",
        TRAINING + "test_contract.py::test_an_interrupted_training_is_the_whole_one[gpt]",
    ),
    Fault(
        "bias correction is a step ahead",
        "harness/train/optimizers/adam.py",
        "self.beta1_64.pow(moving + 1)",
        "self.beta1_64.pow(moving + 2)",
        TRAINING + "test_optimizers.py::test_follows_another[adamw]",
    ),
    Fault(
        "gains and biases decay",
        "harness/train/workloads/network.py",
        "[float(p.decays) for p in self.model.parameters]",
        "[1.0 for p in self.model.parameters]",
        TRAINING + "test_pack.py::test_matches_a_plain_torch_loop",
    ),
    Fault(
        "Lion's betas are swapped",
        "harness/train/optimizers/lion.py",
        'self.beta1, self.beta2 = self.per_lane("beta1"), self.per_lane("beta2")',
        'self.beta2, self.beta1 = self.per_lane("beta1"), self.per_lane("beta2")',
        TRAINING + "test_optimizers.py::test_follows_another[lion of the paper]",
    ),
    Fault(
        "warmup comes a step late",
        "harness/train/schedules/__init__.py",
        "np.minimum(1.0, (step + 1) / warmup)",
        "np.minimum(1.0, step / warmup)",
        TRAINING + "test_schedules.py::test_follows_torch",
    ),
    Fault(
        "a decay is a share of what follows warmup",
        "harness/train/schedules/warmup_stable_decay.py",
        "share = training.decay_fraction * training.nominal_steps / (training.nominal_steps - training.warmup_steps)",
        "share = training.decay_fraction",
        TRAINING + "test_schedules.py::test_warmup_stable_decay",
    ),
    Fault(
        "a plateau is an evaluation too short",
        "harness/train/procedures/plateau.py",
        "(waited > self.patience_K)",
        "(waited >= self.patience_K)",
        TRAINING + "test_schedules.py::test_drops_are_torchs",
    ),
    Fault(
        "later micro-batches count whole",
        "harness/train/procedures/accumulation.py",
        "sum_KP.add_(part_KP, alpha=share)",
        "sum_KP.add_(part_KP)",
        TRAINING + "test_procedures.py::test_micro_batches_make_the_whole_batchs_step",
    ),
    Fault(
        "an epoch leaves examples out",
        "harness/train/procedures/epochs.py",
        "stream[skipped : skipped + count]",
        "stream[:count]",
        TRAINING + "test_procedures.py::test_epochs_see_every_example_once",
    ),
    Fault(
        "lanes see the batches of the first seed",
        "harness/train/procedures/plain.py",
        "[by_seed[seed] for seed in self.seeds]",
        "[by_seed[self.seeds[0]] for _ in self.seeds]",
        TRAINING + "test_contract.py::test_a_lane_is_what_it_is_alone_in_any_order_and_beside_one_that_is_lost[gpt]",
    ),
    Fault(
        "evaluations drop activations",
        "harness/train/workloads/network.py",
        "outputs = self.outputs(inputs)\n",
        "outputs = self.outputs(inputs, drop=self.drop)\n",
        TRAINING + "test_dropout.py::test_evaluations_and_curvature_are_of_the_whole_network",
    ),
    Fault(
        "dropout is the same at every step",
        "harness/train/counted.py",
        "self.first_K1 ^ (step & MASK)",
        "self.first_K1 ^ (0 * step)",
        TRAINING + "test_dropout.py::test_masks_are_those_of_the_hash",
    ),
    Fault(
        "the noise of half a batch counts as that of a whole one",
        "harness/train/noise.py",
        "(batch / half - 1)",
        "(batch / half)",
        TRAINING + "test_probes.py::test_two_batches_against_single_examples",
    ),
    Fault(
        "a larger loss scale lets more gradients underflow",
        "harness/train/probes/underflow.py",
        "size_KN <= FP16_FLUSHED / scale",
        "size_KN <= FP16_FLUSHED * scale",
        TRAINING + "test_precision.py::test_underflow_is_what_casting_flushes",
    ),
    Fault(
        "activations of FP16 are held in FP32",
        "harness/train/precisions/fp16.py",
        'activations="float16"',
        'activations="float32"',
        HARNESS + "test_registries.py::test_every_precision_is_one_that_a_gpu_has",
    ),
    Fault(
        "gradients have the forward pass's FP8",
        "models/emulated_fp8.py",
        "rounded(gradients[0], torch.float8_e5m2, ctx.scaled)",
        "rounded(gradients[0], torch.float8_e4m3fn, ctx.scaled)",
        TRAINING + "test_precision.py::test_fp8_products_round_operands_and_gradients",
    ),
    Fault(
        "divergence is a step early",
        "harness/train/result.py",
        "(below[-1] + 2)",
        "(below[-1] + 1)",
        TRAINING + "test_result.py::test_divergence_step",
    ),
)

OBSERVING = (
    Fault(
        "curves of one statistic share a hash",
        "harness/declare/metrics/curve.py",
        'if self.statistic == "rises" and self.of not in ("train_loss", "evaluation_loss"):',
        "if False:",
        METRICS + "test_curve.py::test_the_hash_tells_all_curves_and_statistics_apart",
    ),
    Fault(
        "a study trains what it could not judge",
        "harness/declare/study.py",
        "if missing := [setting for setting in leaf.settings if not configuration.sets(setting)]:",
        "if missing := []:",
        HARNESS + "declare/test_spec.py::test_runs_that_would_not_keep_what_is_read_are_refused",
    ),
    Fault(
        "a document is wrong because an effect is smaller than asked",
        "harness/judge/grading.py",
        "if claim.sides or claim.size or",
        "if claim.size or",
        JUDGING + "test_error_rates.py::test_documents_that_disagree_are_graded_by_their_own_side",
    ),
    Fault(
        "a wrong sign",
        "harness/declare/metrics/arithmetic.py",
        "(evaluate(self.left, trials, weights) - right) / right",
        "(right - evaluate(self.left, trials, weights)) / right",
        OBSERVE + "test_relative_gap_sign",
    ),
    Fault(
        "a swapped arm",
        "harness/declare/metrics/arithmetic.py",
        "evaluate(self.top, trials, weights) / evaluate(self.bottom, trials, weights)",
        "evaluate(self.bottom, trials, weights) / evaluate(self.top, trials, weights)",
        OBSERVE + "test_max_trainable_against_the_best_of_several_arms",
    ),
    Fault(
        "the LR is chosen on the split it is judged on",
        "harness/declare/metrics/estimating/weighted.py",
        'best = mean(trials.losses(arm, over, "validation_loss"), weights).argmin(axis=1)',
        'best = mean(trials.losses(arm, over, "test_loss"), weights).argmin(axis=1)',
        OBSERVE + "test_the_lr_is_chosen_on_validation_and_judged_on_test",
    ),
    Fault(
        "a seed chooses the LR it is judged at",
        "harness/declare/metrics/batch_sizes.py",
        "others_RGS = total_RG[:, :, None] - weights[:, None, :] * steps_GS[None]",
        "others_RGS = total_RG[:, :, None] - 0 * weights[:, None, :] * steps_GS[None]",
        METRICS + "test_batch_sizes.py::test_the_lr_is_chosen_on_the_other_seeds",
    ),
    Fault(
        "a seed without others takes the lowest LR",
        "harness/declare/metrics/batch_sizes.py",
        "np.where(alone_RS[:, None], total_RG[:, :, None], others_RGS).argmin(axis=1)",
        "others_RGS.argmin(axis=1)",
        METRICS + "test_batch_sizes.py::test_a_seed_alone_chooses_by_itself",
    ),
    Fault(
        "seeds are resampled apart in the two arms of a gap",
        "harness/declare/metrics/arithmetic.py",
        "return evaluate(self.left, trials, weights) - evaluate(self.right, trials, weights)",
        "return evaluate(self.left, trials, weights) - evaluate(self.right, trials, weights[:, ::-1])",
        OBSERVE + "test_seeds_are_paired",
    ),
    Fault(
        "runs that never reach the target count as if they had at their last step",
        "harness/declare/metrics/estimating/fits.py",
        "return np.where(censored, predicted + sigma * hazard, log_steps), ",
        "return log_steps, ",
        METRICS + "estimating/test_fits.py::test_em_finds_the_largest_tobit_likelihood",
    ),
    Fault(
        "runs that did not diverge count as cured",
        "harness/declare/metrics/divergence.py",
        "return int((happened & remedied).sum()), int(happened.sum())",
        "return int(remedied.sum()), len(happened)",
        OBSERVE + "test_cure_rates",
    ),
)

KEEPING = (
    Fault(
        "a diverged run is dropped",
        "harness/plan/store/trial_rows.py",
        "| ~(loss < initial), initial, loss)",
        "| ~(loss < initial), np.nan, loss)",
        OBSERVE + "test_a_diverged_run_counts_with_its_loss_at_initialization",
    ),
    Fault(
        "a checksum knows a file's size alone",
        "harness/plan/store/ledger.py",
        "hashlib.sha256(content)",
        "hashlib.sha256(str(len(content)).encode())",
        STORING + "test_ledger.py::test_checkpoints",
    ),
    Fault(
        "a file is written in place",
        "harness/plan/store/store.py",
        'temporary = f"{path}.{uuid.uuid4().hex}.tmp"',
        "temporary = path",
        STORING + "test_store.py::test_a_write_that_fails_leaves_the_old_file_and_nothing_else",
    ),
    Fault(
        "a name leads out of the store",
        "harness/plan/store/store.py",
        'if name.startswith("/") or ".." in name.split("/"):',
        'if name.startswith(("/", "..")):',
        SAFETY + "test_nothing_is_written_outside_a_store",
    ),
    Fault(
        "of a trial in two packs the later result counts",
        "harness/plan/store/ledger.py",
        'sort_by([("finished_at", "ascending"), ("row", "ascending")])',
        'sort_by([("finished_at", "descending"), ("row", "ascending")])',
        STORING + "test_ledger.py::test_a_trial_in_two_packs_counts_once",
    ),
    Fault(
        "a declaration is compared with the last one",
        "harness/plan/store/declaration.py",
        "return changes(found[0].declared, study)",
        "return changes(found[-1].declared, study)",
        STORING + "test_declaration.py::test_a_threshold_that_moved_after_the_first_run_shows",
    ),
)

PLANS = (
    Fault(
        "a digest without that of the trial it starts from",
        "harness/plan/plan.py",
        "identity, seed, *digests[-1:]]",
        "identity, seed]",
        PLANNING + "test_starts.py::test_a_digest_includes_what_a_trial_starts_from_and_no_name",
    ),
    Fault(
        "a trial waits for none that it starts from",
        "harness/launch/pack_queue.py",
        "trial.start and trial.start.digest in self._untrained for",
        "False for",
        HARNESS + "launch/test_starts.py::test_parents_are_handed_out_before_what_starts_from_them",
    ),
    Fault(
        "bias correction begins again after another trial",
        "harness/train/learner.py",
        "return clock if self.earlier_K1 is None else clock + self.earlier_K1",
        "return clock",
        TRAINING + "test_continuation.py::test_a_trial_that_goes_on_is_the_rest_of_a_longer_one",
    ),
    Fault(
        "batches begin again after another trial",
        "harness/train/procedures/continuation.py",
        "divmod(passed, self.steps_per_draw)",
        "divmod(0 * passed, self.steps_per_draw)",
        TRAINING + "test_continuation.py::test_a_trial_that_goes_on_is_the_rest_of_a_longer_one",
    ),
    Fault(
        "a digest without the data",
        "harness/plan/plan.py",
        "self.device, data_hash, identity, seed, *",
        "self.device, identity, seed, *",
        HARNESS + "test_properties.py::test_digests_know_nothing_of_packing_and_words",
    ),
    Fault(
        "a search that is not over has chosen",
        "harness/plan/search_results.py",
        "return len(self.values) >= self.search.budget",
        "return bool(self.values)",
        PLANNING + "test_proposals.py::test_an_unfinished_search_is_no_number",
    ),
    Fault(
        "a variation is trained into the study's own ledger",
        "harness/plan/variation.py",
        'return found.model_copy(update={"name": variation_name(study, "varied", changed)})',
        'return found.model_copy(update={"name": study.name})',
        PLANNING + "test_variation.py::test_no_trial_of_a_variation_is_one_of_the_study",
    ),
)

VERDICTS = (
    Fault(
        "a run that is not finished is published",
        "harness/judge/trial_sets.py",
        "for each in records.verdicts() if each.verdict == INVALID]",
        "for each in records.verdicts() if False]",
        HARNESS + "plan/store/test_source_check.py::test_a_run_that_is_not_finished_is_not_published",
    ),
    Fault(
        "the error of resamples as if seeds were many",
        "harness/judge/statistics/intervals.py",
        "math.sqrt(sampled.seeds / (sampled.seeds - 1)))",
        "1.0)",
        OBSERVE + "test_tuned_loss",
    ),
    Fault(
        "one-sided p values for two-sided ones",
        "harness/judge/statistics/intervals.py",
        "min(1.0, 2 * max(scipy.special.stdtr(",
        "min(1.0, 1 * max(scipy.special.stdtr(",
        OBSERVE + "test_p_values_agree_with_intervals",
    ),
    Fault(
        "no correction for several workloads",
        "harness/judge/statistics/combining.py",
        "len(ordered) / (index + 1) * p for",
        "p for",
        JUDGING + "test_combining.py::test_partial_conjunction_of_all_is_the_largest_and_of_one_is_simes",
    ),
    Fault(
        "a toy decides about large models",
        "harness/judge/regimes.py",
        "count < regime.least_parameters",
        "count > regime.least_parameters",
        JUDGING + "test_judge.py::test_a_toy_refutes_no_claim_about_large_models",
    ),
    Fault(
        "a document is graded by the other side",
        "harness/judge/grading.py",
        "SUPPORTED if name == right else REFUTED",
        "REFUTED if name == right else SUPPORTED",
        JUDGING + "test_error_rates.py::test_documents_that_disagree_are_graded_by_their_own_side",
    ),
    Fault(
        "every look at the full level",
        "harness/judge/statistics/looks.py",
        "found.append(float(2 * scipy.stats.norm.sf(boundary / math.sqrt(share))))",
        "found.append(alpha)",
        JUDGING + "test_sequential.py::test_the_error_rate_of_t_tests_at_all_looks_together",
    ),
    Fault(
        "verdicts are remembered whatever trials come",
        "harness/judge/verdict_memory.py",
        "_claims(study), trials, declared, evidence.state(study.name), _statistics()]",
        "_claims(study), declared, evidence.state(study.name), _statistics()]",
        JUDGING + "test_verdict_memory.py::test_it_forgets_when_trials_thresholds_evidence_or_statistics_change",
    ),
    Fault(
        "verdicts are remembered whatever judged them",
        "harness/judge/verdict_memory.py",
        "return [STATISTICS_VERSION, {name",
        "return [{name",
        JUDGING + "test_verdict_memory.py::test_it_forgets_when_trials_thresholds_evidence_or_statistics_change",
    ),
    Fault(
        "judging changes and its version does not",
        "harness/judge/spelling.py",
        "percent = 100 if unit in HUNDREDTHS else 1",
        'percent = 100 if unit == "share" else 1',
        JUDGING + "test_statistics_version.py::test_judging_that_changes_has_another_version",
    ),
    Fault(
        "a difference of shares in percent",
        "harness/declare/metrics/arithmetic.py",
        'return POINTS if unit == "share" or (unit in ("relative", "") and self.left.is_share) else unit',
        "return unit",
        JUDGING + "test_spelling.py::test_a_difference_of_shares_is_in_points",
    ),
    Fault(
        "a range over workloads is of whatever part stands in the same place",
        "harness/judge/explaining.py",
        "named = (each for each in parts if words(each) == words(deciding))",
        "named = parts[place : place + 1]",
        JUDGING + "test_judge.py::test_a_range_is_of_one_part_and_of_what_can_be_tested",
    ),
    Fault(
        "calibration counts an interval beside the truth",
        "tests/calibration/trial_rates.py",
        "tally.covered += verdict.low <= value + _near(value) and value - _near(value) <= verdict.high",
        "tally.covered += verdict.low <= value + _near(value) or value - _near(value) <= verdict.high",
        "tests/calibration/test_trial_rates.py::test_intervals_that_are_too_narrow_show",
    ),
    Fault(
        "a share is a hundred times too small in a sentence",
        "harness/judge/spelling.py",
        "percent = 100 if unit in HUNDREDTHS else 1",
        'percent = 100 if unit == "relative" else 1',
        JUDGING + "test_spelling.py::test_numbers_in_prose",
    ),
    Fault(
        "what one seed decides is called firm",
        "harness/judge/error_rates.py",
        "    if robustness.seeds_that_matter:\n",
        "    if robustness.readings_that_matter and robustness.seeds_that_matter:\n",
        JUDGING + "test_error_rates.py::test_firm_and_fragile",
    ),
)

SHOWING_RUNS = (
    Fault(
        "MLflow's server is open to everybody",
        "harness/launch/tracking/server.py",
        "return ipaddress.ip_address(host).is_loopback",
        "return ipaddress.ip_address(host).is_private",
        SAFETY + "test_elsewhere_accounts_are_needed",
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
        "a row of MLflow's tables is not the one its client writes",
        "harness/launch/tracking/tables.py",
        '"user_id": "unknown",',
        '"user_id": "",',
        HARNESS + "launch/tracking/test_tables.py::test_every_row_is_what_the_client_writes[sqlite]",
    ),
    Fault(
        "MLflow's tables are written whatever its version",
        "harness/launch/tracking/tables.py",
        "return VERSION in TESTED and uri",
        "return uri",
        HARNESS + "launch/tracking/test_tables.py::test_only_what_was_tested_is_written",
    ),
)

READING = (
    Fault(
        "intervals that lie apart overlap",
        "harness/use/reading/compare.py",
        "max(low for low, _ in numbers) <= min(high for _, high in numbers)",
        "min(low for low, _ in numbers) <= max(high for _, high in numbers)",
        HARNESS + "use/reading/test_provenance.py::test_intervals_overlap_or_lie_apart",
    ),
    Fault(
        "a study is read as it was declared first",
        "harness/use/reading/stored_studies.py",
        "stored_declarations(store, name)[-1:]",
        "stored_declarations(store, name)[:1]",
        HARNESS + "use/reading/test_stored_studies.py::test_what_is_declared_last_is_meant",
    ),
)

RUNNING = (
    Fault(
        "a deadline is not heard",
        "harness/launch/ray_process.py",
        "self.stopping = self.stopping or now >= deadline",
        "self.stopping = self.stopping or now >= math.inf",
        HARNESS + "launch/test_ray_process.py::test_a_deadline_ends_the_sweep",
    ),
    Fault(
        "a run that gave trials up ends well",
        "harness/use/run_studies.py",
        'code = INTERRUPTED if stopped else FAILED if launched.count("given_up") else FINE',
        "code = INTERRUPTED if stopped else FINE",
        HARNESS + "use/test_run_studies.py::test_a_run_that_gives_trials_up_fails",
    ),
    Fault(
        "another process of the same number holds the lease",
        "harness/launch/lease.py",
        'return _started(holder.get("process")) == holder.get("started")',
        'return _started(holder.get("process")) is not None',
        HARNESS + "launch/test_lease.py::test_a_process_number_that_was_given_away_again_holds_nothing",
    ),
    Fault(
        "a loss that is no number is told as 0",
        "harness/launch/events.py",
        "return None if isinstance(value, float) and not math.isfinite(value) else value",
        "return 0.0 if isinstance(value, float) and not math.isfinite(value) else value",
        HARNESS + "launch/test_events.py::test_numbers_that_json_does_not_have_are_null",
    ),
)

COMMANDS = (
    Fault(
        "bad input ends well",
        "harness/use/cli/base.py",
        "raise _told(one_line(error), BAD_INPUT) from None",
        "raise _told(one_line(error), 0) from None",
        SAFETY + "test_no_runs_no_server",
    ),
    Fault(
        "the doctor passes over unsafe switches",
        "harness/use/cli/doctor.py",
        "ok = value.lower() not in unsafe",
        "ok = not value or value.lower() not in unsafe[1:]",
        SAFETY + "test_the_doctor_sees_switches_that_let_others_in",
    ),
)

API = (
    Fault(
        "a notebook gets raw losses for judged ones",
        "harness/use/api.py",
        "judged = trial_rows.judged_losses(found[loss].to_numpy(dtype=np.float64), initial, outcome)",
        "judged = found[loss].to_numpy(dtype=np.float64)",
        HARNESS + "use/test_api.py::test_losses_are_there_as_they_are_judged",
    ),
    Fault(
        "a notebook shows a study's words as HTML",
        "harness/use/api.py",
        "to_html(index=False, escape=True,",
        "to_html(index=False, escape=False,",
        HARNESS + "use/test_api.py::test_what_a_study_says_is_escaped_where_it_is_shown",
    ),
)

MODELS = (
    Fault(
        "attention sees later positions",
        "models/layers.py",
        "is_causal=True",
        "is_causal=False",
        "tests/models/test_gpt.py::test_no_position_sees_a_later_one",
    ),
    Fault(
        "every lane reads the embedding of the first",
        "models/layers.py",
        "torch.arange(lanes, device=index.device) * self.rows",
        "torch.arange(lanes, device=index.device) * 0",
        "tests/models/test_gpt.py::test_every_lane_and_its_gradients_are_those_of_torch",
    ),
    Fault(
        "blocks add as much as if there were half of them",
        "models/parametrization.py",
        "self.hidden_std(fan_in) / math.sqrt(2 * depth)",
        "self.hidden_std(fan_in) / math.sqrt(depth)",
        "tests/models/test_gpt.py::test_what_is_added_is_scaled_down_with_the_depth_before_a_norm_alone",
    ),
    Fault(
        "muP lowers the LR of vectors, too",
        "models/parametrization.py",
        "1.0 / multiplier if growing_sides == 2 else 1.0",
        "1.0 / multiplier if growing_sides else 1.0",
        "tests/models/test_mup.py::test_learning_rate_multipliers",
    ),
)

REPORTS = (
    Fault(
        "pages show a study's words as HTML",
        "reports/phrases.py",
        "else escape(part) for part in",
        "else Markup(part) for part in",
        "tests/reports/test_phrases.py::test_what_was_measured_is_bold_and_all_is_escaped",
    ),
    Fault(
        "templates escape nothing",
        "reports/site.py",
        "autoescape=True",
        "autoescape=False",
        "tests/reports/test_site.py::test_everything_is_escaped",
    ),
    Fault(
        "a table of arms calls the better one worse",
        "reports/arms_table.py",
        '"better" if gap.high < 0 else "worse" if gap.low > 0',
        '"worse" if gap.high < 0 else "better" if gap.low > 0',
        "tests/reports/test_arms_table.py::test_it_is_what_plain_arithmetic_gives",
    ),
    Fault(
        "a figure shows another interval than the one that decides",
        "reports/figures/frames.py",
        "(2 if criterion is not None and criterion.one_sided else 1)",
        "1",
        "tests/reports/figures/test_planted.py::test_a_row_is_the_interval_that_decides_and_its_seeds_lie_beside_it",
    ),
    Fault(
        "a page that is out of date is kept",
        "reports/site.py",
        "        path.unlink(missing_ok=True)\n        return\n",
        "        return\n",
        "tests/reports/test_site.py::test_a_comparison_with_what_is_no_longer_published_goes",
    ),
)

STUDIES = (
    Fault(
        "a threshold moves after the run",
        "studies/warmup.py",
        'AT_THE_END = inside(0.5, 2.0, unit="x")',
        'AT_THE_END = inside(0.4, 2.5, unit="x")',
        "tests/studies/test_sameness.py::test_it_says_what_it_said[warmup]",
    ),
    Fault(
        "a document that gives a number is graded by the direction alone",
        "studies/register.py",
        'size="exponent 1",',
        'size="",',
        "tests/reports/test_site.py::test_the_matrix_of_the_repository_is_up_to_date",
    ),
)

ELSEWHERE = HARNESS + "elsewhere/"
RUNS_FROM_ELSEWHERE = (
    Fault(
        "a repeated run counts twice",
        "harness/elsewhere/checks.py",
        """    return runs.frame[~runs.frame["run"].isin(again["run"])], Problem(""",
        """    return runs.frame, Problem(""",
        ELSEWHERE + "test_checks.py::test_repeated_runs_count_once",
    ),
    Fault(
        "pairs are matched by place",
        "harness/elsewhere/samples.py",
        'chosen = [each.set_index("seed").loc[shared].reset_index() for each in (arm, other)]',
        'chosen = [each[each["seed"].isin(shared)] for each in (arm, other)]',
        ELSEWHERE + "test_judge_runs.py::test_pairs_are_matched_by_seed_and_not_by_place",
    ),
    Fault(
        "twenty claims are each judged as if they were alone",
        "harness/elsewhere/judge_runs.py",
        "if each.verdict in DECIDED and q > ALPHA else each",
        "if each.verdict in DECIDED and each.p > ALPHA else each",
        ELSEWHERE + "test_judge_runs.py::test_more_claims_ask_for_more",
    ),
    Fault(
        "a verdict from a single run is firm",
        "harness/elsewhere/run_verdict.py",
        "LEAST_RUNS = 3",
        "LEAST_RUNS = 2",
        ELSEWHERE + "test_judge_runs.py::test_one_run_is_never_firm",
    ),
    Fault(
        "a small arm's own spread is enough",
        "harness/elsewhere/firmness.py",
        "replace(how, one_spread=True)",
        "how",
        ELSEWHERE + "test_judge_runs.py::test_a_small_arm_that_shows_little_spread_is_fragile",
    ),
    Fault(
        "the gate takes damage for a gift",
        "harness/elsewhere/gate.py",
        'worse = 1 if better == "lower" else -1',
        'worse = -1 if better == "lower" else 1',
        ELSEWHERE + "test_gate.py::test_outcomes",
    ),
    Fault(
        "samples of unequal spread share the larger one's degrees of freedom",
        "harness/judge/statistics/two_samples.py",
        "return Contrast(value, math.sqrt(total), total**2 / float(np.sum(parts**2 / [len(x) - 1, len(y) - 1])))",
        "return Contrast(value, math.sqrt(total), len(x) + len(y) - 2)",
        JUDGING + "test_two_samples.py::test_welch",
    ),
    Fault(
        "updates are compared with nothing",
        "harness/elsewhere/watch/layers.py",
        "for norms in (norms_of(before), weights)])",
        "for norms in (norms_of(before), norms_of(before))])",
        HARNESS + "elsewhere/watch/test_measured.py::test_norms_and_ratios",
    ),
    Fault(
        "an agent runs code unasked",
        "harness/use/agents/tools.py",
        "if named and not self.allow_code:",
        "if named and self.allow_code:",
        HARNESS + "use/agents/test_mcp.py::test_no_code_runs_unless_the_user_allowed_it[plan-arguments0]",
    ),
)

FAULTS = (
    *(*ERRORS_AND_INPUT, *MACHINE, *SPEC, *OWN, *DATA, *ENGINE, *OBSERVING, *KEEPING, *PLANS, *VERDICTS),
    *(*SHOWING_RUNS, *READING, *RUNNING, *COMMANDS, *API, *MODELS, *REPORTS, *STUDIES, *RUNS_FROM_ELSEWHERE),
)
