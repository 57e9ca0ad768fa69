"""Pages from what a store has, and from the published evidence where it has nothing."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import catalog
from harness.judge import Verdict
from harness.ledger import Ledger
from harness.records import RecordSet, stored_sets
from harness.spec import Study
from harness.store import Store
from harness.variation import is_variation


def published_sets(study: Study) -> list[RecordSet]:
    return list(catalog.extension("evidence").published_sets(study))


def write_pages(
    store: Store, studies: Sequence[Study], output: Path | None = None, only: Sequence[str] | None = None
) -> tuple[Path, Mapping[str, list[Verdict]]]:
    """The index and all pages, or those of some studies; returns the folder, and each study's verdicts.

    A variation has a page of its own and no place in the index.
    """
    if output is None:
        output = Path(store.root if store.is_local else "results").absolute() / "pages"
    ordered = sorted(studies, key=lambda study: study.name)
    memory = catalog.extension("judged").Memory(store)

    def sets_of(study: Study) -> list[RecordSet]:
        own = stored_sets(study, Ledger(store, study.name))
        have = {(each.scale, each.device) for each in own}
        return own + [each for each in published_sets(study) if (each.scale, each.device) not in have]

    write, register = catalog.extension("site").write, catalog.register()
    declared = [study for study in ordered if not is_variation(study.name)]
    varied = [study for study in ordered if is_variation(study.name)]
    # Variations first and apart: the index, which every call writes, is of declared studies alone.
    found = write(output, varied, register, sets_of, only, memory.recall) if varied else {}
    found |= write(output, declared, register, sets_of, only, memory.recall)
    for study in ordered:
        memory.remember(study, found[study.name])
    return output, {name: [verdict for each in judged for verdict in each.verdicts] for name, judged in found.items()}
