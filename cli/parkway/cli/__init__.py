"""The `parkway` command."""
