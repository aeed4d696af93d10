// Audit: the least probable facts; one click to retract one, another to take that back.

import { toQuestion } from "../address.js";
import { update } from "../api.js";
import { button, element, fill } from "../dom.js";
import { named, percent } from "../names.js";
import { factSentence } from "../parts/fact.js";
import { jobPanel } from "../parts/jobs.js";
import { chosenRelations, relationChoice } from "../parts/relationchoice.js";
import { say, toast } from "../toasts.js";

export function auditView() {
  const panel = jobPanel("audit", findingsShown);
  const form = element("form", { class: "row" });
  const node = element(
    "div",
    { class: "page" },
    element("h1", {}, "Audit"),
    element(
      "p",
      { class: "lead" },
      "Each fact is judged as if it were missing. The least probable ones come first. They may ",
      "still be right: check before you retract.",
    ),
    element("section", {}, form),
    panel.node,
  );

  async function show({ as_of: asOf }, signal) {
    document.title = "Audit – casegraph";
    const relation = await relationChoice(asOf);
    const top = element("input", { type: "number", min: 1, max: 10000, value: 50 });
    form.onsubmit = (event) => {
      event.preventDefault();
      panel.begin({ relations: chosenRelations(relation), top: Number(top.value) });
    };
    fill(
      form,
      element("span", {}, "Look at the facts of "),
      relation,
      element("label", {}, "and list the most doubtful ", top),
      element("button", { class: "button main" }, "Start"),
    );
    await panel.resume(signal);
  }

  return { node, show, job: panel.show, resume: panel.resume, isLive: false };
}

function findingsShown(rows) {
  return element("ul", { class: "findings" }, rows.map(findingShown));
}

function findingShown(row) {
  const fact = [row.head, row.relation, row.tail];
  const question = { entity: row.head, relation: row.relation, wanted: "tail" };
  const item = element(
    "li",
    {},
    element("b", { class: "number" }, worthOf(row)),
    element("span", { class: "grow" }, factSentence(fact), reasonShown(row), insteadShown(row)),
    element("a", { href: toQuestion(question, { answer: row.tail }), class: "button" }, "Why?"),
    retraction(fact, (isGone) => item.classList.toggle("gone", isGone)),
  );
  return item;
}

/** How probable a fact is; its rank if the settings have no probabilities. */
function worthOf(row) {
  if (row.probability !== null) return percent(row.probability);
  return row.rank === null ? "not found" : `rank ${row.rank}`;
}

function reasonShown(row) {
  return element("small", { class: "block" }, String(row.reasons[0]));
}

/** The best new answer, if the fact itself does not come first. */
function insteadShown(row) {
  if (!row.instead || row.rank === 1) return null;
  return element("small", { class: "block" }, "more likely: ", named(row.instead));
}

/** A button that retracts a fact, and then takes that back. */
function retraction(fact, marked) {
  let isGone = false;
  const turn = async () => {
    try {
      await update(isGone ? { add: [fact] } : { retract: [fact] });
    } catch (problem) {
      return toast(`Not done: ${problem.message}`, { isBad: true });
    }
    isGone = !isGone;
    marked(isGone);
    fill(node, isGone ? "Undo" : "Retract");
    say(isGone ? "Retracted." : "It is a fact again.");
  };
  const node = button("Retract", turn);
  return node;
}
