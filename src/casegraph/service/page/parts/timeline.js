// Time: a slider over the updates of the graph, and what happened in each.

import { get } from "../api.js";
import { change } from "../address.js";
import { button, element, fill } from "../dom.js";
import { learn, number } from "../names.js";
import { factSentence } from "./fact.js";

const SHOWN = 3; // events of an update
const SIGNS = { "+": "added", "-": "retracted", "=": "described" };

/** A slider from the first update to the last; nothing if there is only one. */
export function timeline(info, asOf) {
  const first = Math.max(1, info.first_sequence);
  const last = info.sequence;
  if (last <= first) return null;
  const present = asOf === undefined ? last : Number(asOf);
  const words = element("output", {}, wordsOf(present, last));
  const slider = element("input", {
    type: "range",
    min: first,
    max: last,
    value: present,
    "aria-label": "as of update",
    "aria-valuetext": wordsOf(present, last),
    input: () => fill(words, wordsOf(Number(slider.value), last)),
    change: () => gone(Number(slider.value), last),
  });
  const step = (by, name, sign) => {
    const target = present + by;
    const isOut = target < first || target > last;
    const attributes = { class: "plain", "aria-label": name, disabled: isOut };
    return button(sign, () => gone(target, last), attributes);
  };
  return element(
    "span",
    { class: "time" },
    step(-1, "one update earlier", "‹"),
    slider,
    step(1, "one update later", "›"),
    words,
  );
}

function wordsOf(sequence, last) {
  return sequence === last ? `now (update ${number(last)})` : `as of update ${number(sequence)}`;
}

function gone(sequence, last) {
  change({ as_of: sequence === last ? null : sequence });
}

/** What an update did, and a way back to the present. */
export async function showMoment(node, asOf, signal) {
  node.hidden = asOf === undefined;
  if (node.hidden) return;
  const since = Math.max(0, Number(asOf) - 1);
  const page = learn(await get("history", { since, limit: SHOWN + 1 }, signal));
  const events = page.events.filter((event) => event.sequence === Number(asOf));
  const when = events.length ? new Date(events[0].time).toLocaleString() : "";
  fill(
    node,
    element("b", {}, `You look at the graph as it was after update ${number(Number(asOf))}. `),
    when ? `${when}: ` : null,
    events.length > SHOWN ? "many facts came or went. " : events.map(eventShown),
    button("Back to now", () => change({ as_of: null })),
  );
}

function eventShown({ sign, fact }) {
  const what = sign === "=" ? fact.join(" · ") : factSentence(fact);
  return element("span", {}, `${SIGNS[sign]} `, what, ". ");
}
