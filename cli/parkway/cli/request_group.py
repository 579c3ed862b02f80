"""`parkway request`: send requests and wait for their answers; `request show` says where one is."""

from typing import Any

import typer
from typer.core import TyperGroup

from parkway.cli.request import run
from parkway.cli.request_show import show

_SEND = "send"


class _Requests(TyperGroup):
    """`parkway request [FILE] ...` is `parkway request send [FILE] ...`: what one does most is the shortest."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in {"-h", "--help"}):
            args = [_SEND, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_Requests, add_completion=False)


@app.callback()
def _request() -> None:
    """Send requests and wait for their answers (`send`, which may be left out), or see where one is (`show`).

    For example:

      parkway request --text "Where is my order?" --key Ann

      parkway request show order-4711
    """


app.command(_SEND)(run)
app.command("show")(show)
