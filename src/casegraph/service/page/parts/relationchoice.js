// A choice of one relation, or of all.

import { relations } from "../catalogue.js";
import { element } from "../dom.js";
import { label } from "../names.js";

export async function relationChoice(asOf) {
  const all = await relations(asOf);
  return element(
    "select",
    { "aria-label": "relation" },
    element("option", { value: "" }, "every relation"),
    all.map(({ relation }) => element("option", { value: relation }, label(relation))),
  );
}

/** The relations that were chosen, as a job takes them: none stands for all. */
export function chosenRelations(choice) {
  return choice.value ? [choice.value] : [];
}
