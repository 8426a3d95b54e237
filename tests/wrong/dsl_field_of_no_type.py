from dsl import Source

berth = Source("berth", key="id", id=str, depth="metres")
