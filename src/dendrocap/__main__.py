"""``python -m dendrocap``, for systems where the script is not on the path."""

from dendrocap.cli import app

if __name__ == "__main__":  # processes started by the explorer import this module again
    app(prog_name="dendrocap")
