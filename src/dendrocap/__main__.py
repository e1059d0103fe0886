"""``python -m dendrocap``, for where the script is not on the path."""

from dendrocap.cli import app

app(prog_name="dendrocap")
