"""What tests in a real browser share, beside the browser: a server in a thread, and what any page owes its reader."""

from __future__ import annotations

from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING

import uvicorn

from cartesius.pages.local_pages import address_of, listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.applications import Starlette


@contextmanager
def served(application: Starlette, secret: str, port: int = 0) -> Iterator[str]:
    """Serve an application on a free port, and give its address; it is shut down, and its thread joined, in the end."""
    running = uvicorn.Server(
        uvicorn.Config(application, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    )
    with listening(port) as sockets:
        thread = Thread(target=running.run, kwargs={"sockets": [sockets]})
        thread.start()
        try:
            yield address_of(sockets, secret)
        finally:
            running.should_exit = True
            thread.join()


CHECKS = """() => {
  const wrong = [];
  const visible = (one) => one.offsetParent !== null || one.getClientRects().length > 0;
  for (const one of document.querySelectorAll("button, input, select")) {
    const labels = [...(one.labels || [])].map((label) => label.textContent.trim()).join("");
    const said = one.textContent.trim() || one.getAttribute("aria-label") || labels;
    if (visible(one) && !said) wrong.push(`no name: ${one.outerHTML}`);
  }
  for (const one of document.querySelectorAll("[aria-labelledby], [aria-describedby]"))
    for (const id of (one.getAttribute("aria-labelledby") || one.getAttribute("aria-describedby")).split(" "))
      if (!document.getElementById(id)) wrong.push(`no such label: ${id}`);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb(colour).map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    for (let now = one; now; now = now.parentElement) {
      const colour = getComputedStyle(now).backgroundColor;
      if (rgb(colour).length < 4 || rgb(colour)[3] > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = "p, li, h1, h2, h3, h4, th, td, dt, dd, figcaption, button:not(:disabled), label, legend, pre,"
    + " strong, .tag, .because";
  for (const one of document.querySelectorAll(texts)) {
    if (!visible(one) || !one.textContent.trim()) continue;
    const [front, back] = [light(getComputedStyle(one).color), light(behind(one))];
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) wrong.push(`contrast ${ratio.toFixed(2)}: ${one.outerHTML.slice(0, 90)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) wrong.push("it is wider than the window");
  return wrong;
}"""
"""Every control has a name, every label is there, every text has a contrast of 4.5 or more, nothing is too wide."""
