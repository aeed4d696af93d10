// What stands below the question: how it is asked, as of when, and what can be copied.

import { change } from "../address.js";
import { info, types } from "../catalogue.js";
import { button, element } from "../dom.js";
import { label } from "../names.js";
import { copyMenu } from "./copying.js";
import { swapped } from "./question.js";
import { timeline } from "./timeline.js";

/** The controls; `shown` gives what the view shows, for copying, where it shows anything. */
export async function controls(parameters, shown = null) {
  const isMarked = parameters.known === "mark";
  const toggle = () => change({ known: isMarked ? null : "mark" });
  return [
    button("⇄ Reverse the question", () => swapped(parameters)),
    button("Include known answers", toggle, { "aria-pressed": String(isMarked) }),
    await typeChoice(parameters),
    timeline(await info(), parameters.as_of),
    shown ? copyMenu(shown) : null,
  ];
}

async function typeChoice(parameters) {
  const all = await types(parameters.as_of);
  if (!all.length) return null;
  const option = ({ type }) => {
    const isChosen = type === parameters.type;
    return element("option", { value: type, selected: isChosen }, label(type));
  };
  const select = element(
    "select",
    { class: "button", "aria-label": "type of answers" },
    element("option", { value: "" }, "Any type"),
    all.map(option),
  );
  select.addEventListener("change", () => change({ type: select.value, answer: null }));
  return select;
}
