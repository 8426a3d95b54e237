"""Packs in plain English, and what each rule depends on, for people to read.

In reading order: `naming`, `phrases`, `sentences`, `explaining`.
"""
