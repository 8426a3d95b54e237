"""Pages that are served to this machine alone: what they have in common, whatever they show.

In it: `local_pages`. Needs the extra ``edit``; who serves a page imports it when it does.
"""
