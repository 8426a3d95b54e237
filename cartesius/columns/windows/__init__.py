"""Kernels of windows: which events come to which, what they hold, their totals and their joins.

In reading order: `window_deliveries`, `window_state`, `totalled_rows`, `window_totals`, `sessions_of_rows`,
`session_totals`, `window_turns`, `window_joins`.
"""
