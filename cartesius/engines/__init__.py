"""The engine that users hold, and all that it can say, save and bring back.

In reading order: `explanations`, `tiers`, `snapshots`, `state_checks`, `changes`, `engine`, `saving`,
`program_cards`, `rule_changes`, `traces`, `frame_runs`.
"""
