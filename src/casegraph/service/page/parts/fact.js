// A fact as a sentence, with its entities as links.

import { element, joined } from "../dom.js";
import { entityLink, label, named } from "../names.js";
import { doubtParts, factParts, wishParts } from "../wording.js";

/** A fact, its entities as links. */
export function factSentence(fact) {
  return shown(factParts(fact, label), entityLink);
}

/** A fact as text that holds no links, for a button. */
export function factWords(fact) {
  return shown(factParts(fact, label), named);
}

/** "Albert Einstein was not born in Ulm". */
export function doubt(fact) {
  return shown(doubtParts(fact, label), named);
}

/** "Albert Einstein was born in Munich". */
export function wish(fact) {
  return shown(wishParts(fact, label), named);
}

function shown(parts, entityShown) {
  const nodes = parts.map((part) => {
    return typeof part === "string" ? part : entityShown(part.entity);
  });
  return element("span", { class: "fact" }, joined(nodes, " "));
}

/** The fact that an answer to a question says. */
export function factOf({ entity, relation, wanted }, answer) {
  return wanted === "head" ? [answer, relation, entity] : [entity, relation, answer];
}

/** Whether two facts are the same. */
export function isSame(fact, other) {
  return fact.every((name, place) => name === other[place]);
}
