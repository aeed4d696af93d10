// The question as a sentence with two fields in it.

import { change, go } from "../address.js";
import { element, fill } from "../dom.js";
import { label } from "../names.js";
import { questionParts } from "../wording.js";
import { combobox } from "./combobox.js";
import { directionsFor, entitiesFor } from "./finding.js";

/**
 * Show the question that the parameters of the address ask.
 *
 * type  of what is asked for, if it is known
 */
export function showQuestion(node, parameters, type = "") {
  fill(node, sentence(parameters, type));
}

function sentence(parameters, type) {
  const { entity, relation } = parameters;
  if (!entity) return [element("span", { class: "q" }, "Ask about "), entityField(parameters)];
  if (!relation) {
    const about = element("span", { class: "q" }, "Of ");
    return [about, entityField(parameters), " ", relationField(parameters, "")];
  }
  const parts = questionParts(parameters, label(relation), type);
  const shown = parts.map((part) => {
    if (typeof part === "string") return element("span", { class: "q" }, part);
    if ("entity" in part) return entityField(parameters);
    return relationField(parameters, part.relation);
  });
  return shown.flatMap((part, place) => {
    const isMark = parts[place] === "?";
    return place && !isMark ? [" ", part] : [part];
  });
}

function entityField(parameters) {
  const slot = combobox({
    name: "entity asked about",
    value: parameters.entity ? label(parameters.entity) : "",
    placeholder: "a name …",
    find: (text) => entitiesFor(text, parameters.as_of),
    choose: (option) => asked(parameters, { entity: option.value }),
  });
  slot.classList.add("entity");
  return slot;
}

function relationField(parameters, words) {
  const slot = combobox({
    name: "relation asked about",
    value: words,
    placeholder: "what do you want to know?",
    find: (text) => directionsFor(parameters.entity, text, parameters.as_of),
    choose: (option) => {
      const isTyped = typeof option.value === "string";
      const { relation, wanted } = isTyped ? { relation: option.value } : option.value;
      asked(parameters, { relation, wanted: wanted === "head" ? "head" : null });
    },
  });
  slot.classList.add("relation");
  return slot;
}

/** Another question: what was chosen in the old one no longer holds. */
function asked(parameters, changed) {
  const { entity, relation, wanted, known, type, as_of: asOf } = { ...parameters, ...changed };
  go("ask", { entity, relation, wanted, known, type, as_of: asOf });
}

/** Ask the other way round. */
export function swapped({ wanted }) {
  change({ wanted: wanted === "head" ? null : "head", answer: null, without: [], with: [] });
}
