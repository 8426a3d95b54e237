"""The command: ``python -m examples.notebooks`` runs the notebooks anew and stores what they show."""

from __future__ import annotations

import click
import nbformat

from examples.notebooks.running import executed, notebooks


@click.command()
def main() -> None:
    """Run the notebooks of examples/notebooks anew, and store what they show in them."""
    for path in notebooks():
        nbformat.write(executed(path), path)  # type: ignore[no-untyped-call]  # it has no types
        click.echo(path)


if __name__ == "__main__":
    main(prog_name="python -m examples.notebooks")
