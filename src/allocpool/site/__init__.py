"""From executed notebooks to one static HTML site that reads without a network."""

from allocpool.site._build import build_site
from allocpool.site._render import notebooks_of, pages_seconds, render, require_whole

__all__ = ["build_site", "notebooks_of", "pages_seconds", "render", "require_whole"]
