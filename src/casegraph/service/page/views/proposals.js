// Proposals: facts that are missing, the most probable first; one click to accept or to see why.

import { toQuestion } from "../address.js";
import { add } from "../changing.js";
import { button, element, fill } from "../dom.js";
import { percent } from "../names.js";
import { factSentence } from "../parts/fact.js";
import { jobPanel } from "../parts/jobs.js";
import { chosenRelations, relationChoice } from "../parts/relationchoice.js";

export function proposalsView() {
  const panel = jobPanel("complete", proposalsShown);
  const form = element("form", { class: "row" });
  const node = element(
    "div",
    { class: "page" },
    element("h1", {}, "Proposals"),
    element(
      "p",
      { class: "lead" },
      "Each entity is asked for what similar entities have, in both directions. Pairs that are ",
      "not facts yet are proposed, the most probable first.",
    ),
    element("section", {}, form),
    panel.node,
  );

  async function show({ as_of: asOf }, signal) {
    document.title = "Proposals – casegraph";
    const relation = await relationChoice(asOf);
    const least = element("input", { type: "number", min: 0, max: 1, step: 0.05, value: 0.5 });
    const best = element("input", { type: "number", min: 1, max: 10000, value: 100 });
    form.onsubmit = (event) => {
      event.preventDefault();
      const chosen = chosenRelations(relation);
      const probability = Number(least.value);
      panel.begin({ relations: chosen, min_probability: probability, best: Number(best.value) });
    };
    fill(
      form,
      element("span", {}, "Propose facts of "),
      relation,
      element("label", {}, "with a probability of at least ", least),
      element("label", {}, "and list the best ", best),
      element("button", { class: "button main" }, "Start"),
    );
    await panel.resume(signal);
  }

  return { node, show, job: panel.show, resume: panel.resume, isLive: false };
}

function proposalsShown(rows) {
  return element("ul", { class: "findings" }, rows.map(proposalShown));
}

function proposalShown(row) {
  const fact = [row.head, row.relation, row.tail];
  // As the reason: about the head, unless the tail says much more.
  const isTail = 10 * row.tail_score >= row.head_score;
  const question = { entity: isTail ? row.head : row.tail, relation: row.relation };
  const why = toQuestion(
    { ...question, wanted: isTail ? "tail" : "head" },
    { answer: isTail ? row.tail : row.head },
  );
  const score = Math.max(row.tail_score, row.head_score);
  const worth = row.probability === null ? score.toFixed(2) : percent(row.probability);
  const accept = button("Accept", async () => {
    if (await add(fact)) accept.disabled = true;
  });
  return element(
    "li",
    {},
    element("b", { class: "number" }, worth),
    element("span", { class: "grow" }, factSentence(fact), reasonShown(row)),
    element("a", { href: why, class: "button" }, "Why?"),
    accept,
  );
}

function reasonShown(row) {
  return row.reason ? element("small", { class: "block" }, String(row.reason)) : null;
}
