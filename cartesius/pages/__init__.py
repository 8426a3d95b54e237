"""Pages that are served to this machine alone: what they have in common, whatever they show.

In reading order: `page_options`; `local_pages`, which needs the extra ``edit``: who serves a page imports it when it
does. Every page has ``common.css`` and ``common.js``.
"""
