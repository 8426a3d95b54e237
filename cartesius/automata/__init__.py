"""Data transducers: machines with a bounded number of registers, for sequences and for users.

In reading order: `extended_values`, `transitions`, `machines`, `transducing`.
"""
