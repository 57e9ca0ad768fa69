"""What `folklore noise` prints: the answer first, then what it rests on."""

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


def print_noise(found: "Noise", output: str | None) -> None:
    print_wrapped(Text(found.answer, style="bold"))
    for caution in found.cautions:
        print_wrapped(Text(f"caution: {caution}", style="yellow"))
    if not found.is_alike:
        _print_visible(found)
        _print_needed(found)
    _print_compared(found)
    _print_groups(found.groups)
    _print_curve(found)
    out.print()
    print_facts(_facts(found, output))


def _print_visible(found: "Noise") -> None:
    out.print()
    columns = [Column(name, number=True) for name in ("runs an arm", "smallest visible difference", "of the mean")]
    rows = [
        Row((str(each.seeds), " ".join(number_and_interval(each.difference, each.low, each.high)), _share(each.relative)))
        for each in found.visible
    ]
    print_table(columns, rows)
    print_wrapped(Text("not paired, 80% power, 5% two-sided; one run an arm is tested by the standard deviation above"), 2)


def _print_needed(found: "Noise") -> None:
    if not found.needed:
        return
    out.print()
    columns = [Column(name, number=True) for name in ("to show", "of the mean", "runs an arm")]
    rows = [
        Row((f"{each.difference:.3g}", _share(each.relative), f"{each.seeds or f'over {MOST_SEEDS}'}")) for each in found.needed
    ]
    print_table(columns, rows)


def _print_compared(found: "Noise") -> None:
    if not found.compared:
        return
    out.print()
    columns = Column("difference"), *(Column(name, number=True) for name in ("", "of the mean", "runs", "noise alone"))
    print_table((*columns, Column("")), [Row(_compared(each)) for each in found.compared])


def _compared(each: "Compared") -> tuple[str, ...]:
    runs = f"{each.seeds[0]} and {each.seeds[1]}"
    verdict = "within the noise" if each.within_noise else "beyond the noise"
    return each.name, f"{each.difference:+.3g}", _share(each.relative), runs, f"p = {each.p:.2g}", verdict


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
    told, interval = number_and_interval(group.level.deviation, group.level.low, group.level.high)
    return runs, mean, told, interval.strip("()")


def _print_curve(found: "Noise") -> None:
    if not found.curve:
        return
    out.print()
    last = len(found.curve) - 1
    shown = sorted({round(last * part / (MOST_STEPS - 1)) for part in range(MOST_STEPS)})
    rows = [Row((f"{found.curve[index][0]:g}", f"{found.curve[index][1]:.3g}")) for index in shown]
    print_table([Column("step", number=True), Column("standard deviation", number=True)], rows)


def _facts(found: "Noise", output: str | None) -> dict[str, str]:
    facts = {found.metric: f"{found.mean:.6g} on average of {found.runs} runs"}
    if found.settles_at is not None:
        facts["settles"] = f"from step {found.settles_at:g} on the standard deviation stays in the interval of the last"
    if found.repeat is not None:
        facts["run twice"] = _repeat(found)
    if output is not None:
        facts["kept in"] = output
    return facts


def _repeat(found: "Noise") -> str:
    again = found.repeat
    assert again is not None
    if again.is_same:
        return f"seed {again.seed} gives {again.first:.8g} both times: the same seed, the same result"
    apart = abs(again.first - again.second)
    return (
        f"seed {again.seed} gives {again.first:.8g} and {again.second:.8g}: {apart:.2g} apart without another seed (runs with"
        f" other seeds {found.level.deviation * 2**0.5:.2g}, root mean square)"
    )


def _share(relative: float | None) -> str:
    return "–" if relative is None else percent(relative)
