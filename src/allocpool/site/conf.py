"""Sphinx configuration of the site. It is copied beside the pages and reads what they say of themselves."""

from __future__ import annotations

import json
from pathlib import Path

_boxes = json.loads((Path(__file__).parent / "boxes.json").read_text(encoding="utf-8"))

project = "Allocate or pool?"
author = "the allocpool project"
extensions = ["myst_nb"]
root_doc = "index"
exclude_patterns = [".doctrees"]

nb_execution_mode = "off"
# Progress bars go to stderr; what failed is told by the banner and by the tables.
nb_output_stderr = "remove"
# What cells compute is Markdown like what they hold: links to other pages become links within the site.
nb_render_markdown_format = "myst"
nb_code_prompt_show = "Code"
nb_code_prompt_hide = "Hide code"
suppress_warnings = ["myst.header", "myst.xref_missing", "mystnb.unknown_mime_type"]

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "home_page_in_toc": True,
    "navbar_persistent": [],
}
html_context = {"default_mode": "light", "boxes": _boxes["pages"], "default_box": _boxes["default"]}
