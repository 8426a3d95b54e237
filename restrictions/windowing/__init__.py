"""Windows: which spans there are, what they hold, when they show it, and when they are let go.

In reading order: `reports`, `window_base`, `assigning`, `assigned_windows`, `contents`, `sessions`.
"""
