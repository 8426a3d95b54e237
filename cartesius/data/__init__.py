"""Plain data: events and their times, values and how they are kept, and the one place where text becomes functions.

In reading order: `events`, `calendars`, `records`, `window_spans`, `entries`, `validity`, `null_values`, `queues`,
`journals`, `codec`, `inflating`, `value_texts`, `event_tables`, `generated`.
"""
