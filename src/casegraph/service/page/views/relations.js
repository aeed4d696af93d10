// All relations: how many facts each has, of how many heads and tails, and one of them.

import { to } from "../address.js";
import { info, relations } from "../catalogue.js";
import { element, fill } from "../dom.js";
import { named, number } from "../names.js";
import { emptyGraph } from "../parts/emptiness.js";
import { factSentence } from "../parts/fact.js";
import { table } from "../parts/table.js";

const COLUMNS = [
  "relation",
  { words: "facts", isNumber: true },
  { words: "heads", isNumber: true },
  { words: "tails", isNumber: true },
  { words: "per head", isNumber: true },
  { words: "per tail", isNumber: true },
  "for example",
];

export function relationsView() {
  const node = element("div", { class: "page" });

  async function show({ as_of: asOf }) {
    document.title = "Relations – casegraph";
    const about = await info(asOf);
    if (!about.facts) return fill(node, emptyGraph(about));
    const all = await relations(asOf);
    const rows = all.map((one) => [
      element("a", { href: to("relation", { relation: one.relation }) }, named(one.relation)),
      number(one.facts),
      number(one.heads),
      number(one.tails),
      one.per_head.toFixed(1),
      one.per_tail.toFixed(1),
      [factSentence(one.example), typesOf(one)],
    ]);
    fill(
      node,
      element("h1", {}, "Relations"),
      element("p", { class: "lead" }, "Choose one to see which paths lead to its answers."),
      element("section", {}, table("relations", COLUMNS, rows)),
    );
  }

  return { node, show };
}

function typesOf({ head_types: heads, tail_types: tails }) {
  if (!heads.length && !tails.length) return null;
  const ends = `${heads[0] ?? "anything"} → ${tails[0] ?? "anything"}`;
  return element("small", { class: "block" }, ends);
}
