"""The operators of `restrictions.operators`, which cannot depend on an order that their input does not have.

In reading order: `template_base`, `templates`, `operating`.
"""
