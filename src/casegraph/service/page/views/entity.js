// An entity: its facts both ways, where it is in the graph, who is like it, and what to ask.

import { get } from "../api.js";
import { to, toQuestion } from "../address.js";
import { retract } from "../changing.js";
import { button, element, fill, joined } from "../dom.js";
import { counted, entityLink, label, learn, named, percent } from "../names.js";
import { sharedShown } from "../parts/alike.js";
import { factForm } from "../parts/factform.js";
import { paged } from "../parts/more.js";
import { drawNeighbourhood } from "../parts/neighbourhood.js";
import { problemShown } from "../parts/problems.js";
import { showMoment } from "../parts/timeline.js";
import { questionText } from "../wording.js";

const FACTS = 100; // a page
const ALIKE = 8;

export function entityView() {
  const node = element("div", { class: "page" });

  async function show(parameters, signal) {
    const { entity, as_of: asOf } = parameters;
    const moment = element("p", { class: "notice", hidden: true });
    let found;
    try {
      found = learn(await get("entity", { entity, limit: FACTS, as_of: asOf }, signal));
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      fill(node, element("h1", {}, "No such entity"), await problemShown(problem, parameters));
      return;
    }
    document.title = `${label(found.entity)} – casegraph`;
    const isPast = asOf !== undefined;
    const [similar] = await Promise.all([
      get("similar", { entity: found.entity, top: ALIKE, as_of: asOf }, signal),
      showMoment(moment, asOf, signal),
    ]);
    const cluster = element("p", { class: "soft" });
    fill(
      node,
      element("h1", {}, named(found.entity)),
      moment,
      summary(found),
      drawingShown(found),
      element(
        "div",
        { class: "halves" },
        questions(found),
        alike(learn(similar), cluster),
      ),
      await facts(found, asOf, isPast, signal),
      isPast ? null : addition(found),
    );
    showCluster(cluster, found.entity, asOf, signal);
  }

  return { node, show };
}

function summary(found) {
  const name = label(found.entity) === found.entity ? null : element("code", {}, found.entity);
  const types = found.types.map((type) => element("span", { class: "tag" }, named(type)));
  return element("p", { class: "lead row" }, counted(found.degree, "fact"), name, types);
}

function drawingShown(found) {
  if (!found.facts.length) return null;
  const scroll = { class: "scroll", tabindex: "0", role: "group", "aria-label": "drawing" };
  return element(
    "section",
    {},
    element("h2", {}, "In the graph"),
    element("div", scroll, drawNeighbourhood(found.entity, found.facts)),
  );
}

/** What can be asked about it, as sentences: the directions it has. */
function questions(found) {
  const rows = found.profile.map(({ relation, inverse, count }) => {
    const wanted = inverse ? "head" : "tail";
    const question = { entity: found.entity, relation, wanted };
    const link = element("a", { href: toQuestion(question) }, questionText(question, label));
    return element("li", {}, link, element("small", {}, ` ${count} known`));
  });
  const other = to("ask", { entity: found.entity });
  return element(
    "section",
    {},
    element("h2", {}, "Ask"),
    element("ul", { class: "plain-list" }, rows),
    element("p", {}, element("a", { href: other }, "Ask something else about it")),
  );
}

function alike(similar, cluster) {
  const rows = similar.neighbours.map((one) =>
    element(
      "li",
      {},
      entityLink(one.entity),
      element("small", {}, ` ${percent(one.similarity)} similar`),
      element("small", { class: "block" }, "shares ", joined(sharedShown(one), ", ")),
    ),
  );
  return element(
    "section",
    {},
    element("h2", {}, "Similar entities"),
    rows.length
      ? element("ul", { class: "plain-list" }, rows)
      : element("p", { class: "soft" }, "Nothing shares a fact with it."),
    cluster,
  );
}

/** Its cluster, which may take a while to find. */
async function showCluster(node, entity, asOf, signal) {
  try {
    const found = await get("entity", { entity, cluster: true, limit: 1, as_of: asOf }, signal);
    if (found.cluster === null) return;
    const address = to("cluster", { cluster: found.cluster, as_of: asOf });
    fill(node, "It is in ", element("a", { href: address }, `cluster ${found.cluster}`), ".");
  } catch {
    // A graph too large for clusters while one waits has none here.
  }
}

function facts(found, asOf, isPast, signal) {
  return paged(async (cursor) => {
    const parameters = { entity: found.entity, limit: FACTS, cursor, as_of: asOf };
    const page = cursor === null ? found : learn(await get("entity", parameters, signal));
    const groups = new Map();
    for (const fact of page.facts) {
      const isOwn = fact[0] === found.entity;
      const key = JSON.stringify([fact[1], isOwn]);
      if (!groups.has(key)) groups.set(key, { relation: fact[1], isOwn, facts: [] });
      groups.get(key).facts.push(fact);
    }
    const shown = [...groups.values()].map((group) => groupShown(group, isPast));
    return { node: element("div", { class: "masonry" }, shown), next: page.next };
  });
}

function groupShown({ relation, isOwn, facts: own }, isPast) {
  const items = own.map((fact) => {
    const away = () => retract(fact);
    const name = `retract ${fact.map(label).join(" ")}`;
    return element(
      "li",
      {},
      element("span", { class: "grow" }, entityLink(isOwn ? fact[2] : fact[0])),
      isPast ? null : button("Retract", away, { class: "button quiet", "aria-label": name }),
    );
  });
  const direction = isOwn ? "→ " : "← ";
  const link = element("a", { href: to("relation", { relation }) }, named(relation));
  return element(
    "section",
    {},
    element("h2", {}, direction, link, ` · ${items.length}`),
    element("ul", { class: "facts" }, items),
  );
}

function addition(found) {
  return element("section", {}, element("h2", {}, "Add a fact"), factForm(found.entity));
}
