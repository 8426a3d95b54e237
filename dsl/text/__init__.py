"""Files of rules: from their text to a pack, and from a pack to its text.

In reading order: `rule_files`, `syntax_errors`, `parsing`, `unit_names`, `vocabulary`, `text_expressions`, `headings`,
`reading`, `phrasing`, `printing`.
"""
