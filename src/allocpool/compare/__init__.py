"""``allocpool compare``: decide between two sides by anybody's trials."""

from allocpool.compare.command import compare_command

__all__ = ["compare_command"]
