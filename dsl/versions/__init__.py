"""Rules that change: what a change does to a pack, the log of who changed it, and a file that is followed.

In reading order: `pack_changes`, `pack_logs`, `followed_rules`, `running_rules`,
`published_rules`.
"""
