"""Pictures and tables for people: text of SVG and HTML, made of plain data, without third parties, ids or scripts.

The lowest room: it knows nothing of events or patterns, so whoever has something to show may use it.
In reading order: `markup`, `html_tables`, `marble_diagrams`, `automaton_diagrams`.
"""
