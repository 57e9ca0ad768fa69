"""A named study with a user's workload in place of its own: a variation, with a name, a ledger and a page to itself."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from harness.errors import UserError, invalid
from harness.options import Options
from harness.own.finding import Found, find
from harness.spec import Study, Workload
from harness.training.own_module import own_module
from harness.training.programs import EAGER

# Of the workload's identity in the variation's name.
DIGITS = 8


def own_study(study: Study, address: str, options: Options) -> Study:
    """The study on the workload at MODULE:ATTRIBUTE. What is compared, how it is trained and what decides stay as declared.

    Its name holds the workload's identity, so that a changed module is another variation. Raises UserError where the study or
    the options ask for what an own workload does not have.
    """
    if options.datasets:
        raise UserError(f"--data {next(iter(options.datasets))}: an own workload brings its data along; leave --data out")
    if options.program not in (None, EAGER.name):
        raise UserError(f"--program {options.program}: own workloads run eagerly; leave it out")
    for where, field in _workload_fields(study):
        raise UserError(
            f"study '{study.name}' cannot take an own workload: {where} sets {field}, which only the models here have;"
            " choose a study that varies training alone"
        )
    found = find(address)
    own_module(found.dataset)
    dump = study.model_dump()
    dump |= {
        "name": f"{study.name}_own_{found.identity[:DIGITS]}",
        "variation_of": study.name,
        "title": f"{study.title}, on own workload '{found.workload.name}'",
        "workload": Workload(model="own", dataset=found.dataset).model_dump(),
        "departures": (_departure(study, found), *study.departures),
    }
    for scale in dump["scales"].values():
        scale["workload"] = {}
    try:
        return Study.model_validate(dump)
    except ValidationError as error:
        raise invalid(f"study '{study.name}' on own workload '{found.workload.name}'", error) from None


def _workload_fields(study: Study) -> Iterator[tuple[str, str]]:
    """Whatever sets a field of the workload for a part of the trials, and the field: those comparisons would be lost."""
    fields = Workload.model_fields.keys()
    parts: list[tuple[str, Mapping[str, object]]] = [("a factor", study.factors)]
    for name, arm in study.arms.items():
        parts += [(f"arm '{name}'", arm.settings), (f"arm '{name}'", arm.factors)]
    for name, scale in study.scales.items():
        parts.append((f"a factor of scale '{name}'", scale.factors))
        for each in (scale.arm_factors, scale.arm_settings or {}):
            parts += [(f"arm '{arm}' at scale '{name}'", settings) for arm, settings in each.items()]
    for where, settings in parts:
        yield from ((where, field) for field in settings if field in fields)


def _departure(study: Study, found: Found) -> str:
    workload = study.workload
    others = workload.model_dump(exclude={"model", "dataset"}, exclude_defaults=True)
    spelled = "".join(f", {name} {value}" for name, value in others.items())
    return (
        f"Own workload '{found.workload.name}' ({found.address}) in place of {workload.model} on {workload.dataset}{spelled}:"
        f" this is a variation of study '{study.name}', and its verdicts speak of that workload alone."
    )
