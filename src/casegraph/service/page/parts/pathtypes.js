// The best path types of a relation, as a table: the paper's table 6 for any graph.

import { get } from "../api.js";
import { element, joined } from "../dom.js";
import { label, learn, number, percent } from "../names.js";
import { table } from "./table.js";

const COLUMNS = [
  "path type",
  { words: "hits", isNumber: true },
  { words: "walks", isNumber: true },
  { words: "prior", isNumber: true },
  { words: "precision", isNumber: true },
  { words: "right of reached", isNumber: true },
];

/** The table for (relation, wanted), of a cluster or of everyone. */
export async function pathTypes({ relation, wanted, cluster, asOf }, signal) {
  const parameters = { relation, wanted, cluster, top: 15, as_of: asOf };
  const found = learn(await get("path-types", parameters, signal));
  if (!found.path_types.length) {
    return element("p", { class: "soft" }, "No path leads to an answer.");
  }
  const rows = found.path_types.map((one) => [
    pathType(one.steps),
    number(one.hits),
    number(one.tries),
    percent(one.prior),
    percent(one.precision),
    one.reached ? `${number(one.right)} of ${number(one.reached)}` : "–",
  ]);
  return table("path types", COLUMNS, rows);
}

/** A path type as relations with an arrow before each; it points back from tail to head. */
export function pathType(steps) {
  return element("span", { class: "way" }, joined(steps.map(stepShown), " "));
}

function stepShown({ relation, inverse }) {
  const arrow = inverse ? "← " : "→ ";
  return element("span", { class: "step" }, arrow, element("bdi", {}, label(relation)));
}
