"""Sphinx configuration of the site, copied next to its pages."""

from __future__ import annotations

import json
from pathlib import Path

_pages = json.loads((Path(__file__).parent / "pages.json").read_text(encoding="utf-8"))

project = "Allocate or pool?"
author = "the allocpool project"
language = "en"
extensions = ["myst_nb"]
root_doc = "index"
exclude_patterns = [".doctrees"]

nb_execution_mode = "off"
# Progress bars go to stderr; what failed is reported by the banner and by the tables.
nb_output_stderr = "remove"
# Links to other pages become links within the site in computed Markdown, too.
nb_render_markdown_format = "myst"
# Our Markdown has no HTML and no roles: what looks like them is text from elsewhere, such as `Maker.<init>`.
myst_disable_syntax = ["html_block", "html_inline", "myst_role"]
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # nothing is fetched from elsewhere
suppress_warnings = ["myst.header", "myst.xref_missing", "mystnb.unknown_mime_type"]

html_theme = "furo"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_extra_path = ["_taken"]
templates_path = ["_templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_use_index = False
html_show_search_summary = False  # it would fetch every page found, which a page opened as a file may not
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}
html_context = {"pages": _pages}
