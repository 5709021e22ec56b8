"""What papermill reads below ``papermill-configs/``: it prints a traceback of a file that is no YAML, this one line."""

from __future__ import annotations

import click
from papermill.iorw import LocalHandler

from allocpool.errors import UserError


class Configurations(LocalHandler):  # type: ignore[misc]
    """A local file that must hold settings. Papermill finds it by the entry point ``papermill.io``."""

    def read(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            click.ClickException: it is no YAML; names the line. Papermill's command prints that and nothing else.
        """
        from allocpool.campaign.profiles import parsed

        text: str = super().read(path)
        try:
            parsed(text)
        except UserError as error:
            raise click.ClickException(f"{path}: {error}") from None
        return text


configurations = Configurations()
