"""Examples: programs that use the library, and are no part of it."""
