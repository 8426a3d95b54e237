"""The harbour office: what is judged of the ships, kept in a store, and shown on a page while it happens.

Feeds write into the store, whoever shows or tells something reads it, and no feed knows who that is. In reading order:

- `records`: a change of a verdict, a reading, a batch of both, what is noted of a pack; `databases`, `store`: what
  keeps them, in SQLite or PostgreSQL
- `proposals`: rules that somebody wants in force; `judging`: a pack at work, which they change; `replay`, `kafka_feed`:
  the feeds that judge in this process; `spark_feed`: the sink of a query on Spark
- `figures`: what the rules that fail compare, at any moment
- `foreseen`: the next change of a verdict that the forecasts foresee
- `views`: a ship, a source, a berth as the page shows them; `following`: the office as it is now, and what changes, for
  the stream; `board`: the page, and its questions about any moment; `command`: ``python -m examples.port board``
- `alerting`: what is told of, for `dsl.alerts`; `alerts_command`: ``python -m examples.port alerts``
"""
