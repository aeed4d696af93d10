// Changes as they happen. The stream is read with fetch, since an EventSource cannot send a key; a
// stream that was cut is taken up again after the last change that was heard of.

import { request } from "./api.js";

const FIRST_WAIT = 500; // milliseconds
const LONGEST_WAIT = 15_000;

/**
 * Listen for ever.
 *
 * heard  is called with the name of an event and its document
 * is     is called with whether the service can be heard
 */
export async function listen(heard, is) {
  let last = null;
  let wait = FIRST_WAIT;
  for (;;) {
    try {
      const headers = last === null ? {} : { "Last-Event-ID": last };
      const response = await request("/v1/events", { headers });
      wait = FIRST_WAIT;
      let isFirst = true;
      for await (const event of eventsOf(response.body)) {
        if (isFirst) is(true); // not earlier: from its first event on, a stream misses nothing
        isFirst = false;
        if (event.id !== null) last = event.id;
        heard(event.name, JSON.parse(event.data));
      }
    } catch (problem) {
      const isForbidden = problem.status === 401 || problem.status === 403;
      if (isForbidden) return is(false);
    }
    is(false);
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(2 * wait, LONGEST_WAIT);
  }
}

async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const event = eventOf(block);
      if (event !== null) yield event;
    }
  }
}

/** The event that some lines say; null if they are a comment. */
function eventOf(block) {
  const event = { id: null, name: "message", data: "" };
  for (const line of block.split("\n")) {
    const [field, value] = line.split(/: (.*)/s);
    if (field === "id") event.id = value;
    if (field === "event") event.name = value;
    if (field === "data") event.data += value;
  }
  return event.data ? event : null;
}
