"""Output of `folklore noise`: the answer first, then what it rests on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ...elsewhere.noise import percent
from ...judge.spelling import number_and_interval
from ...judge.statistics.noise import MOST_SEEDS
from .output import Column, Row, out, print_facts, print_table, print_wrapped

if TYPE_CHECKING:
    from ...elsewhere.noise import Compared, Group, Noise

# Lines that are printed of a curve, and of groups; --json has all.
MOST_STEPS, MOST_GROUPS = 8, 40


def print_noise(noise: "Noise", output: str | None) -> None:
    print_wrapped(Text(noise.answer, style="bold"))
    for caution in noise.cautions:
        print_wrapped(Text(f"caution: {caution}", style="yellow"))
    if not noise.is_alike:
        _print_visible(noise)
        _print_needed(noise)
    _print_compared(noise)
    _print_groups(noise.groups)
    _print_curve(noise)
    out.print()
    print_facts(_facts(noise, output))


def _print_visible(noise: "Noise") -> None:
    out.print()
    columns = [Column(name, number=True) for name in ("runs an arm", "smallest visible difference", "of the mean")]
    rows = [
        Row((str(size.seeds), " ".join(number_and_interval(size.difference, size.low, size.high)), _share(size.relative)))
        for size in noise.visible
    ]
    print_table(columns, rows)
    print_wrapped(Text("not paired, 80% power, 5% two-sided; one run an arm is tested by the standard deviation above"), 2)


def _print_needed(noise: "Noise") -> None:
    if not noise.needed:
        return
    out.print()
    columns = [Column(name, number=True) for name in ("to show", "of the mean", "runs an arm")]
    rows = [
        Row((f"{size.difference:.3g}", _share(size.relative), f"{size.seeds or f'over {MOST_SEEDS}'}")) for size in noise.needed
    ]
    print_table(columns, rows)


def _print_compared(noise: "Noise") -> None:
    if not noise.compared:
        return
    out.print()
    columns = Column("difference"), *(Column(name, number=True) for name in ("", "of the mean", "runs", "noise alone"))
    print_table((*columns, Column("")), [Row(_compared(difference)) for difference in noise.compared])


def _compared(compared: "Compared") -> tuple[str, ...]:
    runs = f"{compared.seeds[0]} and {compared.seeds[1]}"
    verdict = "within the noise" if compared.within_noise else "beyond the noise"
    return compared.name, f"{compared.difference:+.3g}", _share(compared.relative), runs, f"p = {compared.p:.2g}", verdict


def _print_groups(groups: "Sequence[Group]") -> None:
    if len(groups) < 2:
        return
    out.print()
    numbers = [Column(name, number=True) for name in ("runs", "mean", "standard deviation", "95% CI")]
    rows = [Row((" · ".join(filter(None, (group.arm, group.task))), *_group(group))) for group in groups[:MOST_GROUPS]]
    print_table((Column("arm"), *numbers), rows)
    if len(groups) > MOST_GROUPS:
        print_wrapped(Text(f"and {len(groups) - MOST_GROUPS} more, which --json has"), 2)


def _group(group: "Group") -> tuple[str, ...]:
    runs, mean = str(len(group.values)), f"{group.mean:.5g}"
    if group.level is None:
        return runs, mean, "–", "–"
    deviation, interval = number_and_interval(group.level.deviation, group.level.low, group.level.high)
    return runs, mean, deviation, interval.strip("()")


def _print_curve(noise: "Noise") -> None:
    if not noise.curve:
        return
    out.print()
    last = len(noise.curve) - 1
    shown = sorted({round(last * part / (MOST_STEPS - 1)) for part in range(MOST_STEPS)})
    rows = [Row((f"{noise.curve[index][0]:g}", f"{noise.curve[index][1]:.3g}")) for index in shown]
    print_table([Column("step", number=True), Column("standard deviation", number=True)], rows)


def _facts(noise: "Noise", output: str | None) -> dict[str, str]:
    facts = {noise.metric: f"{noise.mean:.6g} on average of {noise.runs} runs"}
    if noise.settles_at is not None:
        facts["settles"] = f"from step {noise.settles_at:g} on the standard deviation stays in the interval of the last"
    if noise.repeat is not None:
        facts["run twice"] = _repeat(noise)
    if output is not None:
        facts["kept in"] = output
    return facts


def _repeat(noise: "Noise") -> str:
    again = noise.repeat
    assert again is not None
    if again.is_same:
        return f"seed {again.seed} gives {again.first:.8g} both times: the same seed, the same result"
    apart = abs(again.first - again.second)
    return (
        f"seed {again.seed} gives {again.first:.8g} and {again.second:.8g}: {apart:.2g} apart without another seed (runs with"
        f" other seeds {noise.level.deviation * 2**0.5:.2g}, root mean square)"
    )


def _share(relative: float | None) -> str:
    return "–" if relative is None else percent(relative)
