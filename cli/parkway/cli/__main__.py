"""`python -m parkway.cli`: the `parkway` command."""

from parkway.cli.entry import main

main()
