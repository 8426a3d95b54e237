"""Direct changes: what functions of changes of tables have in common, as text.

Source: DESIGN 4; SEMANTICS 2.1.
"""

from __future__ import annotations

BEGIN = """
    ordinal = world.events + 1
    number = world.number
    tuples = 0
    out = []
    part = coming = going = None
    steps.is_running = True
"""
CHANGE = """
    if type(value) is not Update or (type(value.key) is not int and type(value.key) is not str):
        value = checked(value)
    key = value.key
    if type(key) is not int and type(key) is not str and (key is None or not is_exact(key)):
        return None
    before = memory.row(key)
"""
"""It brings the change into form, and finds the row that it replaces."""
ROW = """
    value = value.value
    if type(value) not in plain:
        value = wrap(value)
    number += 1
    part = new(Entry)
    part.value = value
    part.start = start
    part.end = end
    part._identity = source
    part.keys = ()
    part.row_key = key
    part.number = number
    part.slot = slot
    part.state = LIVE
    part.more = None
"""
"""It makes the new row of an update."""
FAIL = """
    except Exception:
        return None  # as written it fails again, and says where
    finally:
        steps.is_running = False
"""
KEEP = """
    world.number = number
    world.candidates += tuples
    if part is not None:
        memory.put(part, coming)
    if before is not None:
        memory.take(before, going)
    return out
"""


def told(key: str) -> str:
    """Return what tells of a change of the row of a key, whose value and times are there."""
    return f"""
        event.start = since
        event.end = until
        event.weight = 1
        event.reactive = output
        event.identity = (output, {key})
        event.span = None
        event.before = () if old is nothing else (old,)
        event.__class__ = Event
        out.append(event)
    """
