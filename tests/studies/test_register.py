"""The register holds to its own rules (its module's docstring): what a page or a grade is made of cannot be half filled in."""

from collections import Counter
from itertools import groupby

from folklore.harness.planning.catalog import register, study_names
from folklore.harness.spec.configuration import MODELS, OPTIMIZERS

CLAIMS = register().claims
SECTION_SIZES = {
    "lr_finder": 5,
    "batch_scaling": 5,
    "critical_batch": 8,
    "warmup": 7,
    "warmup_duration": 1,
    "transformer_warmup": 3,
    "precision": 13,
    "decay": 10,
    "mup_transfer": 5,
    "lr_regimes": 10,
    "edge_of_stability": 4,
    "gradient_noise": 4,
    "generalization": 3,
    "optimizer_generalization": 4,
    "spikes": 8,
    "weight_decay": 3,
    "adam_internals": 6,
    "optimizers": 5,
    "memory": 9,
    "gradient_flow": 4,
    "overfitting": 5,
    "forgetting": 6,
    "batch_ramp": 1,
    "embedding_lr": 1,
}
# 105 of the first reading of the documents, 19 that a second one found, one that was two: checkpointing's compute and time; and
# of ours one on detectors of spikes, and three on the warmup of post-norm and pre-norm.
COUNT = 105 + 19 + 2 + 1 + 3
# What no document claims.
OWN = {
    "finder.head_to_head",
    "finder.ramp",
    "warmup.improves_best",
    "warmup.post_norm",
    "warmup.pre_norm",
    "warmup.clip_post_norm",
    "decay.beats_constant",
    "decay.floor_and_length",
    "decay.trapezoid",
    "mup.coord_check",
    "spike.deviations",
}
# Of many examples, and yet an identity, a rule or a definition.
EXACT_BY_WORDING = {"noise.variance", "spike.detector", "wd.adamw_vs_l2", "flow.dead_relu"}


def test_the_register_is_whole() -> None:
    assert len(CLAIMS) == len({claim.id for claim in CLAIMS}) == COUNT
    assert Counter(claim.study for claim in CLAIMS) == SECTION_SIZES
    assert set(study_names()) == SECTION_SIZES.keys(), "every claim has a study"


def test_claims_of_a_section_stand_together() -> None:
    sections = [claim.study for claim in CLAIMS]
    assert [name for name, _ in groupby(sections)] == list(SECTION_SIZES)


def test_a_claim_stands_in_known_documents() -> None:
    documents = {document.key for document in register().documents}
    assert documents == {"TB", "TD", "CP", "GL", "SG"}
    for claim in CLAIMS:
        assert claim.sources, claim.id
        assert {source.document for source in claim.sources} <= documents, claim.id
        assert len(set(claim.sources)) == len(claim.sources), f"{claim.id}: a place is named twice"


def test_a_claim_is_worded_for_pages_and_for_dense_rows() -> None:
    for claim in CLAIMS:
        assert 0 < len(claim.short) <= 72, claim.id
        assert not claim.short[0].islower(), claim.id
        for text in (claim.short, claim.paraphrase, claim.size, claim.lost, *(side.says for side in claim.sides)):
            assert not text.endswith("."), claim.id
            assert text == " ".join(text.split()), f"{claim.id}: a space too many"
            assert "η" not in text, f"{claim.id}: the LR, and the best LR"


def test_no_two_claims_read_alike() -> None:
    for field in ("short", "paraphrase"):
        counts = Counter(getattr(claim, field).lower() for claim in CLAIMS)
        assert [text for text, count in counts.items() if count > 1] == []


def test_sides_stand_in_the_claims_own_places() -> None:
    for claim in CLAIMS:
        for side in claim.sides:
            assert set(side.sources) <= set(claim.sources), f"{claim.id}: {side.name}"
            assert len(set(side.sources)) == len(side.sources), f"{claim.id}: {side.name}"
            assert len(side.name.split()) <= 2, f"{claim.id}: {side.name}"


def test_a_disagreement_has_sides_and_sides_are_a_disagreement() -> None:
    """Two sides at least, of documents or of one that contradicts itself; a side without a source is what is right."""
    for claim in CLAIMS:
        spoken = [bool(side.sources) for side in claim.sides]
        assert ("disagreement" in claim.kinds) == (sum(spoken) >= 2), claim.id
        assert spoken.count(False) <= 1, claim.id
        assert len(spoken) != 1, claim.id
        assert not spoken or spoken[0], f"{claim.id}: the paraphrase states the first side, so a document says it"


def test_what_is_exact_is_an_identity_or_a_constant() -> None:
    for claim in CLAIMS:
        if "exact" in claim.kinds and "empirical" not in claim.kinds:
            assert claim.quantifier == "exact", claim.id
        if claim.quantifier == "exact":
            assert {"exact", "speed"} & {*claim.kinds} or claim.id in EXACT_BY_WORDING, claim.id


def test_our_own_questions_are_known_as_such() -> None:
    assert {claim.id for claim in CLAIMS if claim.own} == OWN
    for claim in CLAIMS:
        assert not (claim.own and (claim.size or claim.lost)), f"{claim.id}: a number of documents that do not claim it"


def test_a_regime_names_what_there_is() -> None:
    regimes = {claim.id: claim.regime for claim in CLAIMS if claim.regime is not None}
    for claim, regime in regimes.items():
        assert {*regime.models} <= {*MODELS}, claim
        assert {*regime.optimizers} <= {*OPTIMIZERS}, claim
    sizes = {claim: (regime.least_parameters, regime.least_batch) for claim, regime in regimes.items()}
    large = ("warmup.transformer_diverges", "warmup.clip_first", "decay.cosine_vs_step", "gen.adam_transformer")
    language = ("opt.lion", "opt.sophia", "opt.lion_sensitive")
    assert {claim: least for claim, least in sizes.items() if any(least)} == {
        **dict.fromkeys((*large, "gen.lm_large_batch"), (100_000_000, None)),
        **dict.fromkeys(language, (100_000, 2_000)),
        "crit.range": (100_000, None),
    }


def test_every_side_of_a_document_is_found_by_its_key() -> None:
    claim = register().claim("warmup.early_gradients")
    assert (claim.side_of("TB"), claim.side_of("TD"), claim.side_of("SG")) == (["large, noisy", "small"], ["large, noisy"], [])
