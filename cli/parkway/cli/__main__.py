"""`python -m parkway.cli`: the `parkway` command."""

from parkway.cli.main import main

main()
