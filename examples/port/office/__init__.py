"""The harbour office: what is judged of the ships, kept in a store, and shown on a page while it happens.

Feeds write into the store, whoever shows or tells something reads it, and no feed knows who that is. In reading order:

- `records`: a change of a verdict, a reading, a batch of both; `store`, `databases`: what keeps them, in SQLite or
  PostgreSQL
- `links`: which rows a verdict reads; `rule_lists`: what is noted of a pack; `replay`: the feed in this process; `spark_feed`, `kafka_feed`: those from a query on Spark, and from topics
- `foreseen`: the next change of a verdict that the forecasts foresee
- `views`: a ship, a source, a berth as the page shows them; `board`: the whole of it at any moment; `following`: what has
  changed since, for the stream
- `office_page`: the page and its questions; `command`: ``python -m examples.port board``
- `load`: how soon changes are in the pages of many
"""
