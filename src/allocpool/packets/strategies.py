"""The strategies: where a packet comes from. One row says what specs, plans, tables and figures must know of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Literal

from allocpool.errors import OneOf

Language = Literal["java", "cpp"]

POOL_SIZE = 1_000_000
MIX_POOL_SIZE = 200_000


@dataclass(frozen=True)
class Strategy:
    """Where a packet comes from.

    Attributes:
        means: in a few words.
        pool_size: packets made before the start, at scale 1.
        colour: of figures, out of Okabe and Ito's palette: distinct with any common colour vision.
        marker: of figures: distinct in grey, too.
        is_control: whether it is the cost of the test and no choice for a program.
    """

    name: str
    means: str
    pool_size: int
    colour: str
    marker: str
    is_control: bool = False
    languages: tuple[Language, ...] = ("java", "cpp")


STRATEGIES: Mapping[str, Strategy] = MappingProxyType(
    {
        strategy.name: strategy
        for strategy in (
            Strategy("dummy", "one packet used again and again", 0, "#8c8c8c", "s", is_control=True),
            Strategy("alloc", "a fresh packet each time", 0, "#d55e00", "o"),
            Strategy("mix", "a small pool, allocating beyond it", MIX_POOL_SIZE, "#e69f00", "^"),
            Strategy("pool", "a pool that always suffices", POOL_SIZE, "#0072b2", "D"),
        )
    }
)
"""Every strategy by its name, in the order of tables."""

CHOICES = tuple(strategy.name for strategy in STRATEGIES.values() if not strategy.is_control)

StrategyName = Annotated[str, OneOf("strategy", STRATEGIES)]
