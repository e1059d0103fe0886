"""Sphinx settings. `make docs` builds the site without a network; every warning is an error."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import dendrocap

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]  # studies/ makes the tables of pages

# Pages run commands too: those of this environment, in plain text. Kernels keep their files in the build folder.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
PROFILE = HERE / "_build" / "ipython" / "profile_default"
(PROFILE / "startup").mkdir(parents=True, exist_ok=True)
(PROFILE / "ipython_kernel_config.py").write_text("get_config().Application.log_level = 40\n")
shutil.copy(HERE / "_ext" / "kernel_startup.py", PROFILE / "startup" / "plain_commands.py")
os.environ["IPYTHONDIR"] = str(PROFILE.parent)

project = "dendrocap"
author = "The dendrocap developers"
copyright = author  # noqa: A001 (the name that Sphinx wants)
version = release = dendrocap.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "command_line",
    "equation_tags",
    "gallery_figures",
    "local_mathjax",
    "source_links",
    "stored_tables",
    "tutorial_notebooks",
]
exclude_patterns = ["_build", "gallery", "auto_gallery/*.ipynb", "auto_gallery/**/*.ipynb"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # -- and ' belong to commands and derivatives here
numfig = True  # formulas are numbered by page of the guide: (2.7)
# Bases and types of other libraries: without a network there is nothing to refer to.
nitpick_ignore_regex = [("py:.*", r"(?!dendrocap).*")]

# Markdown
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

# Learn: pages that are run when the site is built
nb_execution_mode = "auto"
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_output_stderr = "remove"  # progress bars
nb_merge_streams = True

# Gallery: scripts that are run when the site is built
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_gallery",
    "filename_pattern": r"/plot_",
    "subsection_order": ["gallery/paper", "gallery/beyond"],
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "copyfile_regex": r".*\.rst",
    "capture_repr": (),
    "image_scrapers": ("gallery_figures.scrape",),
    "reset_modules": ("gallery_figures.house_style_on",),
    "show_signature": False,
    "write_computation_times": False,
}

# Reference
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the types are in the text, where they can be explained
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
viewcode_line_numbers = False

# Page
html_theme = "pydata_sphinx_theme"
html_title = "dendrocap"
html_static_path = ["_static"]
html_css_files = ["dendrocap.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_nav_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "secondary_sidebar_items": ["page-toc"],
    "back_to_top_button": False,
}
# Pages without pages below them need no list of them.
ALONE = (
    "changelog",
    "cite",
    "contributing",
    "faq",
    "glossary",
    "install",
    "limits",
    "paper_notes",
    "stability",
    "what_holds",
    "which_function",
)
html_sidebars = {page: [] for page in ("index", *ALONE)}
html_context = {"default_mode": "light"}
