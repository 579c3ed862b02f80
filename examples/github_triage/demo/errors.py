"""What ends the demo early."""


class DemoError(Exception):
    """The demo cannot go on, or what it looked for never came. The message is for people."""
