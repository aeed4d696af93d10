// What an answer says, and how sure that is.

import { add, retract } from "../changing.js";
import { button, element } from "../dom.js";
import { percent } from "../names.js";
import { factOf, factSentence } from "./fact.js";

/** What the answer says, how sure that is, and a way to make it so. */
export function claim({ question, answer }, isPast) {
  const fact = factOf(question, answer.entity);
  const sure = answer.known
    ? "This is a fact in the graph."
    : answer.probability === null
      ? `Not in the graph. Its score is ${answer.score.toFixed(2)}.`
      : `Not in the graph. Its probability is ${percent(answer.probability)}.`;
  const added = button("Add as a fact", () => add(fact));
  const retracted = button("Retract this fact", () => retract(fact));
  const act = isPast ? null : answer.known ? retracted : added;
  return [
    element("p", { class: "claim" }, factSentence(fact)),
    element("p", { class: "row sure" }, element("span", { class: "grow" }, sure), act),
  ];
}
