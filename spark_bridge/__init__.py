"""The Spark bridge: the same correlations, with the same results, over Spark DataFrames.

Rooms, each standing on those before it:

- `columns`: types and values of Spark as Arrow has them; `transport`: how rows travel, and `progress` of what travelled
- `state`: what a bucket keeps between calls; `reading`: what is checked before anything runs
- `running`: what Spark calls, one engine a bucket; `frames`: what a caller uses

Beside them `sinks` and `upserts` for what comes out, `testing` for users' tests, and `daemon`, which starts
workers. What a program says itself of how it may be split is read in `cartesius`.
"""

from cartesius.installation import needing

with needing("import spark_bridge", "cartesius-joins[spark]"):
    from cartesius.programs.live_programs import LiveProgram as LiveProgram

    from .frames import Frames as Frames
    from .frames import correlate_frames as correlate_frames
    from .state.migration import Migration as Migration
    from .state.migration import migrate as migrate
    from .state.state_reports import StateReport as StateReport
    from .state.state_reports import state_report as state_report

__all__ = ["Frames", "LiveProgram", "Migration", "StateReport", "correlate_frames", "migrate", "state_report"]
