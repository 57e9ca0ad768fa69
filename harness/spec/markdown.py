"""How a notebook shows a study."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .study import Arm, Study


def study_markdown(study: "Study") -> str:
    """A study as Markdown: question, arms, scales, and what decides on each claim."""
    arms = [f"| `{name}` | {_cell(arm.label)} | {_settings(arm)} |" for name, arm in study.arms.items()]
    scales = [
        f"| {name} | {_cell(scale.description)} | {study.seeds_at(name)} | {'yes' if scale.judged else 'no'} |"
        for name, scale in study.scales.items()
    ]
    criteria = [
        f"| `{judgement.claim}` | {_cell(each.name)} | {each.claimed.words()} | {each.refuted.words()} |"
        for judgement in study.judgements
        for each in judgement.criteria
    ]
    factors = "; ".join(f"`{name}`: {len(values)} values" for name, values in study.factors.items())
    return "\n".join(
        [
            f"### {_cell(study.title)}",
            f"*{_cell(study.question)}* `{study.name}`, version {study.version}, hash `{study.hash}`. Factors: {factors}.",
            "",
            *("| arm | is | sets |", "|---|---|---|", *arms, ""),
            *("| scale | is | seeds | judged |", "|---|---|---|---|", *scales, ""),
            *(("| claim | criterion | claimed | refuted |", "|---|---|---|---|", *criteria) if criteria else ()),
        ]
    )


def _settings(arm: "Arm") -> str:
    return ", ".join(f"{name} = {value}" for name, value in arm.settings.items()) + (" (searched)" if arm.searched else "")


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table: what would end the cell or start markup is escaped."""
    return re.sub(r"([\\|<>*_`\[\]])", r"\\\1", " ".join(text.split()))
