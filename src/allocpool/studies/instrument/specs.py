"""One Java trial on three sides: behind the bridge, in a plain ``java`` process, and there with Flight Recorder."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from allocpool.packets.specs import PacketsSpec
from allocpool.runtimes.collectors import never_frees

Side = Literal["bridge", "plain", "recorded"]
SIDES: dict[Side, str] = {
    "bridge": "JVM inside a Python process, called through JPype, as in every other trial",
    "plain": "the same classes and flags in a java process",
    "recorded": "plain, with Flight Recorder and the log",
}
_EXPECTED_NS_PER_PACKET = 250.0


class BridgeSpec(PacketsSpec):
    """A trial of exactly ``packets``, the first half of which warms up; so all sides end with the same counts.

    ``System.gc()`` may collect here: a bridge that calls it shows in the log.
    """

    CHILD: ClassVar[str] = "allocpool.studies.instrument.child.bridge"

    mode: Literal["bridge"] = "bridge"
    side: Side = Field(description="behind the bridge, plain, or plain with Flight Recorder")
    packets: int = Field(gt=1, le=10**10, description="exactly; the second half is measured")
    iterations: int = Field(default=20, gt=0, le=10_000, description="of the measured half")
    explicit_gc: bool | None = Field(default=True, description="without -XX:+DisableExplicitGC")

    @model_validator(mode="after")
    def _has_a_bridge(self) -> Self:
        if self.language != "java" or never_frees(self.collector):
            raise ValueError("mode bridge is of Java on a collector that collects: choose such a layout and collector")
        return self

    def expected_seconds(self) -> float:
        return self.set_up_seconds() + self.packets * _EXPECTED_NS_PER_PACKET / 1e9

    def longest_seconds(self) -> float:
        return 60.0 + 10 * self.expected_seconds()

    def cell_name(self) -> str:
        return f"{self.configuration.label}, {self.side}"
