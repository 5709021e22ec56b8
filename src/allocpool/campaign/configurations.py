"""Papermill's reader of ``papermill-configs/``: one line for a file that is no YAML, in place of a traceback."""

from __future__ import annotations

import click
from papermill.iorw import LocalHandler

from allocpool.errors import UserError


class Configurations(LocalHandler):  # type: ignore[misc]
    """A local file that must hold settings. Papermill finds it by the entry point ``papermill.io``."""

    def read(self, path: str) -> str:
        """Return the text of a file; ClickException, whose message papermill prints, where it is no YAML."""
        from allocpool.campaign.profiles import parsed

        text: str = super().read(path)
        try:
            parsed(text)
        except UserError as error:
            raise click.ClickException(f"{path}: {error}") from None
        return text


configurations = Configurations()
