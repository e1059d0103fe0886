"""``python -m dendrocap``, for where the script is not on the path."""

from dendrocap.cli import app

if __name__ == "__main__":  # processes that the explorer starts import this module again
    app(prog_name="dendrocap")
