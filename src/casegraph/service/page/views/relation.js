// One relation: what it connects, and which paths lead to its answers, both ways.

import { to } from "../address.js";
import { relations } from "../catalogue.js";
import { element, fill } from "../dom.js";
import { counted, label, named } from "../names.js";
import { factSentence } from "../parts/fact.js";
import { pathTypes } from "../parts/pathtypes.js";

export function relationView() {
  const node = element("div", { class: "page" });

  async function show({ relation, as_of: asOf }, signal) {
    const own = (await relations(asOf)).find((one) => one.relation === relation);
    if (!own) {
      const back = element("a", { href: to("relations") }, "All relations");
      const words = "The graph has no facts with this relation.";
      fill(node, element("h1", {}, named(relation)), element("p", { class: "lead" }, words), back);
      return;
    }
    document.title = `${label(relation)} – casegraph`;
    const [forth, back] = await Promise.all([
      pathTypes({ relation, wanted: "tail", asOf }, signal),
      pathTypes({ relation, wanted: "head", asOf }, signal),
    ]);
    const ends = `${counted(own.heads, "head")}, ${counted(own.tails, "tail")}`;
    fill(
      node,
      element("h1", {}, named(relation)),
      element("p", { class: "lead" }, `${counted(own.facts, "fact")}, of ${ends}. For example: `),
      element("p", {}, factSentence(own.example), "."),
      element("section", {}, element("h2", {}, "Paths from heads to their tails"), forth),
      element("section", {}, element("h2", {}, "Paths from tails to their heads"), back),
    );
  }

  return { node, show };
}
