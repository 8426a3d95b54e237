"""What a function computes, as a tree: traced once, evaluated by every tier with one meaning of null.

In reading order: `nulls`, `expressions`, `expression_texts`, `tracing`, `made_values`, `value_sorts`,
`missing_values`, `null_functions`, `value_functions`, `phases`, `called_functions`.
"""
