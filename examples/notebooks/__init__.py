"""Notebooks, stored with what they show; `python -m examples.notebooks` runs them anew, in `running`."""
