"""A session that is to be seen before it is known when it ends."""

from restrictions import session
from restrictions.windows import on_content_change

session(30, report=on_content_change)
