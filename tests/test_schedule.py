"""The schedule gives time where a decision is near, and none where there is nothing to decide."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from allocpool.campaign.schedule import NARROW, Progress, Question, decisions_of, next_round
from allocpool.decisions import EFFECT, EQUIVALENT, FEWEST, OPEN


class Machine:
    """Cells whose costs are known: centre and spread of each; a trial takes one second."""

    def __init__(self, cells: dict[str, tuple[float, float]], broken: tuple[str, ...] = ()) -> None:
        self.cells, self.broken = cells, broken
        self.rng = np.random.default_rng(7)
        self.costs: dict[str, list[float]] = {cell: [] for cell in cells}
        self.failures: Counter[str] = Counter()
        self.rounds: list[dict[str, int]] = []

    @property
    def progress(self) -> Progress[str]:
        return Progress(self.costs, self.failures)

    def run(self, questions: list[Question[str]], seconds: float) -> float:
        """Measures until nothing is asked for; the seconds that it took."""
        left_s = seconds
        while wanted := next_round(questions, self.progress, lambda _cell: 1.0, left_s):
            self.rounds.append(wanted)
            for cell, n in wanted.items():
                left_s -= n
                if cell in self.broken:
                    self.failures[cell] += n
                else:
                    centre, spread = self.cells[cell]
                    self.costs[cell] += list(centre * np.exp(spread * self.rng.standard_normal(n)))
        assert left_s >= 0
        return seconds - left_s

    def decided(self, questions: list[Question[str]]) -> int:
        return sum(decision.verdict != OPEN for decision in decisions_of(questions, self.progress))


def pairs(count: int, primary: bool = True) -> list[Question[str]]:
    return [Question(f"a{k}", f"b{k}", primary) for k in range(count)]


def cells(ratios: list[float], spread: float = 0.05) -> dict[str, tuple[float, float]]:
    return {
        name: (100.0 * (r if name[0] == "a" else 1.0), spread)
        for k, r in enumerate(ratios)
        for name in (f"a{k}", f"b{k}")
    }


def test_every_cell_gets_its_first_trials_in_whole_rounds() -> None:
    machine = Machine(cells([3.0] * 4))
    machine.run(pairs(4), 1_000)
    assert all(set(wanted) == set(machine.cells) and set(wanted.values()) == {1} for wanted in machine.rounds[:FEWEST])
    # All of that is clear: nobody measures on.
    assert len(machine.rounds) == FEWEST
    assert machine.decided(pairs(4)) == 4


def test_time_goes_where_a_decision_is_near() -> None:
    machine = Machine(cells([2.0, 1.08, 1.0]))
    machine.run(pairs(3), 300)
    trials = {cell: len(costs) for cell, costs in machine.costs.items()}
    assert trials["a0"] == FEWEST
    assert trials["a1"] > FEWEST
    assert machine.decided(pairs(3)) == 3


def test_more_is_decided_than_by_as_many_trials_everywhere() -> None:
    ratios = [1.0, 1.02, 1.05, 1.15, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0] * 2
    machine, fixed = Machine(cells(ratios, 0.12)), Machine(cells(ratios, 0.12))
    spent = machine.run(pairs(20), 560)
    each = int(spent / 40)
    for cell, (centre, spread) in fixed.cells.items():
        fixed.costs[cell] = list(centre * np.exp(spread * fixed.rng.standard_normal(each)))
    assert machine.decided(pairs(20)) > fixed.decided(pairs(20))


def test_other_questions_wait_for_primary_ones() -> None:
    questions = [*pairs(2), Question("a2", "b2", primary=False)]
    machine = Machine(cells([1.3, 1.3, 1.3]))
    machine.run(questions, 1_000)
    first_other = next(k for k, wanted in enumerate(machine.rounds) if "a2" in wanted)
    assert not any("a0" in wanted for wanted in machine.rounds[first_other:])
    assert machine.decided(questions) == 3


def test_a_cell_without_figures_is_given_up() -> None:
    machine = Machine(cells([2.0, 2.0]), broken=("a0",))
    machine.run(pairs(2), 1_000)
    assert machine.failures["a0"] == 2
    assert machine.decided(pairs(2)) == 1


def test_a_cell_of_several_questions_is_measured_once() -> None:
    machine = Machine({"pool": (100.0, 0.05), "x": (300.0, 0.05), "y": (400.0, 0.05)})
    machine.run([Question("x", "pool"), Question("y", "pool")], 1_000)
    assert {cell: len(costs) for cell, costs in machine.costs.items()} == dict.fromkeys(machine.cells, FEWEST)


def test_what_does_not_matter_is_aimed_at_and_gets_no_more_once_it_is_shown() -> None:
    """By the effect that a question asks for: a larger one is settled by fewer trials."""
    trials = {}
    for effect in (EFFECT, 1.25):
        machine = Machine(cells([1.0] * 4, spread=0.1))
        questions = [replace(question, effect=effect) for question in pairs(4)]
        trials[effect] = machine.run(questions, 2_000)
        assert {found.verdict for found in decisions_of(questions, machine.progress)} == {EQUIVALENT}
    assert trials[1.25] < trials[EFFECT] / 2


def test_a_decided_primary_question_is_measured_on_until_its_ratio_is_known() -> None:
    machine = Machine(cells([2.0], spread=0.2) | {"c": (1.0, 0.05), "d": (2.0, 0.05)})
    primary, other = pairs(1)[0], Question("c", "d", primary=False)
    machine.run([primary, other], 400.0)
    (found,) = decisions_of([primary], machine.progress)
    assert found.low > 1 and (found.high / found.low) ** 0.5 <= NARROW
    assert machine.progress.n("a0") == found.used > FEWEST
    first_of_other = next(k for k, wanted in enumerate(machine.rounds) if "c" in wanted)
    assert not any("a0" in wanted for wanted in machine.rounds[first_of_other:])
