"""The computed jobs of a study: which there are, which are left, and why a result that is needed is missing."""

from collections.abc import Iterator

from ..declare import Judgement, Observed, Study
from ..declare.computed import ComputedJob
from ..declare.metrics.computed import Computed
from ..declare.parts import all_parts
from ..declare.trials import NotEstimableError
from ..train import ENGINE_VERSION
from .store.computations import Computation, Computations


def computed_jobs(study: Study, scale: str) -> dict[str, ComputedJob]:
    """Digest -> job, of all that a study's claims compute at a scale; a scale that is not judged computes nothing."""
    if not study.scale(scale).judged:
        return {}
    jobs = [job for judgement in study.judgements for job in jobs_of(judgement, study, scale)]
    return {digest(study, job): job for job in jobs}


def jobs_of(judgement: Judgement, study: Study, scale: str) -> list[ComputedJob]:
    """The jobs of one claim, each once, in declared order."""
    seeds = tuple(study.seed_numbers_at(scale))
    read = (part for observed in _observed(judgement, scale) for part in all_parts(observed))
    return list(dict.fromkeys(part.job(seeds) for part in read if isinstance(part, Computed)))


def _observed(judgement: Judgement, scale: str) -> Iterator[Observed]:
    for criterion in judgement.criteria_at(scale):
        yield criterion.observe
        yield from (other.observe for other in criterion.alternatives or ())
    yield from (number.observe for number in judgement.reported)


def digest(study: Study, job: ComputedJob) -> str:
    return job.digest(study.name, study.version, ENGINE_VERSION)


def require_computation(study: Study, computations: Computations, job: ComputedJob) -> Computation:
    """The result of a job. Raises NotEstimableError, "invalid", with what is there instead and the command that computes it."""
    computation = computations.get(digest(study, job))
    if computation is not None:
        return computation
    others = [other for other in computations.values() if other.job.function == job.function]
    why = _difference(study, job, others[-1]) if others else "has no result"
    raise NotEstimableError("invalid", f"the computed job {job.call} {why}; `folklore run {study.name}` computes it")


def _difference(study: Study, job: ComputedJob, other: Computation) -> str:
    """How the stored result differs from the one that this job asks for."""
    if other.job.version != job.version:
        return f"has a result of version {other.job.version} of its function, which is at version {job.version}"
    if (other.study_version, other.engine_version) != (study.version, ENGINE_VERSION):
        return (
            f"has a result of version {other.study_version} of the study and {other.engine_version} of the engine,"
            f" which are at {study.version} and {ENGINE_VERSION}"
        )
    return "has a result for other arguments or seeds alone"
