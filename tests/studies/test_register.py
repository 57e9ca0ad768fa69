"""The register holds to its own rules (its module's docstring): what a page or a grade is made of cannot be half filled in."""

from collections import Counter
from itertools import groupby

from folklore.harness.declare.configuration import MODELS, OPTIMIZERS
from folklore.harness.plan.catalog import register, study_names

CLAIMS = register().claims
# Of many examples, and yet an identity, a rule or a definition.
EXACT_BY_WORDING = {"noise.variance", "spike.detector", "wd.adamw_vs_l2", "flow.dead_relu"}


def test_the_register_is_whole() -> None:
    """Every study has claims, and they stand together."""
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    sections = [name for name, _ in groupby(CLAIMS, lambda claim: claim.study)]
    assert sorted(sections) == sorted(study_names())


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


def test_our_own_questions_have_no_numbers_of_documents() -> None:
    for claim in CLAIMS:
        assert not (claim.own and (claim.size or claim.lost)), f"{claim.id}: a number of documents that do not claim it"


def test_a_regime_names_what_there_is() -> None:
    for claim in CLAIMS:
        if claim.regime is not None:
            assert {*claim.regime.models} <= {*MODELS}, claim.id
            assert {*claim.regime.optimizers} <= {*OPTIMIZERS}, claim.id


def test_every_side_of_a_document_is_found_by_its_key() -> None:
    claim = register().claim("warmup.early_gradients")
    assert (claim.side_of("TB"), claim.side_of("TD"), claim.side_of("SG")) == (["large, noisy", "small"], ["large, noisy"], [])
