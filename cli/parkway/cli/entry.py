"""Where a `parkway` process begins: it imports next to nothing itself, so that Ctrl-C is quiet from here on."""

from parkway.cli.interrupt import heed_sigterm_as_init, quiet_ctrl_c


def main() -> None:
    """Run the command line (main.py)."""
    heed_sigterm_as_init()
    with quiet_ctrl_c():
        from parkway.cli.main import main as run  # noqa: PLC0415  what this file is for
    run()
