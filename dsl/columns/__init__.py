"""What a judge computes, said in expressions that an engine can run over columns.

In reading order: `simplifying`, `judgement_forms`.
"""
