// A line in which a fact is completed and added, or imagined.

import { change, here } from "../address.js";
import { add } from "../changing.js";
import { button, element } from "../dom.js";
import { label, named } from "../names.js";
import { be, between, kindOf } from "../wording.js";
import { combobox } from "./combobox.js";
import { factOf } from "./fact.js";
import { entitiesFor } from "./finding.js";

/** A form that adds an answer to a question. */
export function answerForm(question, asOf) {
  let answer = "";
  const field = combobox({
    name: "another answer",
    placeholder: "a name …",
    isFree: true,
    find: (text) => entitiesFor(text),
    choose: (option) => {
      answer = option.value;
    },
  });
  const imagined = () => {
    if (answer) change({ with: [...here().parameters.with, factOf(question, answer)] });
  };
  const submit = (event) => {
    event.preventDefault();
    if (answer) add(factOf(question, answer));
  };
  const isPast = asOf !== undefined;
  return element(
    "form",
    { class: "add-answer", submit },
    element("span", { class: "title" }, "Add an answer"),
    element("span", { class: "line" }, lineOf(question, field)),
    element(
      "span",
      { class: "row" },
      isPast ? null : element("button", { class: "button main" }, "Add the fact"),
      button("What if?", imagined),
    ),
  );
}

/** The fact as a sentence with the field where the answer goes. */
function lineOf({ entity, relation, wanted }, field) {
  const words = label(relation);
  const kind = kindOf(words);
  const own = named(entity);
  const isHead = wanted === "head";
  if (kind === "noun") {
    return isHead ? [own, ` is the ${words} of `, field] : [field, ` is the ${words} of `, own];
  }
  const verb = kind === "is" ? ` ${be(words)} ${words} ` : ` ${between(words)} `;
  return isHead ? [field, verb, own] : [own, verb, field];
}
