"use strict";
// The stream of changes, read by `fetch`, so that the token travels in a header. It comes back by itself: a page that was
// away says the last event that it saw, and is told all that came since.

const SILENCE = 10_000; // milliseconds without a sign of life, after which the stream counts as stopped
const PAUSES = [500, 1_000, 2_000, 5_000]; // before each new try

/** A reader of server-sent events: takes text as it comes, gives `{id, event, data}`. */
function eventReader(give) {
  let rest = "";
  let found = { event: "message", data: [] };
  let last = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const raw of lines) {
      const line = raw.replace(/\r$/, "");
      if (!line) {
        if (found.data.length) give({ id: last, event: found.event, data: found.data.join("\n") });
        found = { event: "message", data: [] };
        continue;
      }
      const [, name, value] = /^([^:]*):? ?(.*)$/s.exec(line);
      if (name === "id") last = value;
      else if (name === "event") found.event = value;
      else if (name === "data") found.data.push(value);
    }
  };
}

/** Keeps a stream open for as long as the page lives.
 *
 * `from`: the last event that was seen; `given`: takes each event; `alive`: is told true when it runs, and false, with the
 * reason, when it does not.
 */
function keepStream(from, given, alive) {
  let last = from;
  let tries = 0;

  async function once() {
    const closing = new AbortController();
    let timer = null;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => closing.abort(), SILENCE);
    };
    heard();
    try {
      const headers = { "X-Token": token, Accept: "text/event-stream" };
      if (last) headers["Last-Event-ID"] = last;
      const response = await fetch("live", { headers, signal: closing.signal });
      if (response.status === 403) return "refused";
      if (!response.ok) return "gone";
      const read = eventReader((event) => {
        if (event.id) last = event.id;
        given(event.event, JSON.parse(event.data), event.id);
      });
      const reader = response.body.getReader();
      const decoder = new TextDecoder();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return "ended";
        heard();
        if (tries !== -1) alive(true);
        tries = -1;
        read(decoder.decode(value, { stream: true }));
      }
    } catch {
      return closing.signal.aborted ? "silent" : "gone";
    } finally {
      clearTimeout(timer);
      closing.abort();
    }
  }

  (async () => {
    for (;;) {
      const why = await once();
      tries += 1;
      alive(false, why);
      if (why === "refused") return;
      await new Promise((done) => setTimeout(done, PAUSES[Math.min(tries, PAUSES.length - 1)]));
    }
  })();
}
