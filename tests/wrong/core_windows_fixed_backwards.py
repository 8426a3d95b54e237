"""A fixed window that ends before it starts."""

from restrictions import fixed

fixed(31, 1)
