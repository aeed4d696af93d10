// One cluster: its members, and which paths lead them to answers, relation by relation.

import { get } from "../api.js";
import { change, to } from "../address.js";
import { relations } from "../catalogue.js";
import { element, fill } from "../dom.js";
import { counted, entityLink, label, learn } from "../names.js";
import { paged } from "../parts/more.js";
import { pathTypes } from "../parts/pathtypes.js";

export function clusterView() {
  const node = element("div", { class: "page" });

  async function show(parameters, signal) {
    const { cluster, relation, wanted, as_of: asOf } = parameters;
    const first = learn(await get("clusters/members", { cluster, as_of: asOf }, signal));
    document.title = `Cluster ${cluster} – casegraph`;
    const all = await relations(asOf);
    const chosen = relation ?? all[0].relation;
    const asked = { relation: chosen, wanted: wanted ?? "tail", cluster, asOf };
    const best = await pathTypes(asked, signal);
    const members = await paged(async (cursor) => {
      const given = { cluster, cursor, as_of: asOf };
      const page = cursor === null ? first : learn(await get("clusters/members", given, signal));
      const items = page.members.map((name) => element("li", {}, entityLink(name)));
      return { node: element("ul", { class: "names" }, items), next: page.next };
    });
    fill(
      node,
      element("p", {}, element("a", { href: to("clusters", { as_of: asOf }) }, "All clusters")),
      element("h1", {}, `Cluster ${cluster}`),
      element("p", { class: "lead" }, counted(first.size, "entity", "entities")),
      element(
        "section",
        {},
        element("h2", {}, "Its best path types"),
        element("p", { class: "row" }, "to ", relationChoice(all, chosen), directionChoice(wanted)),
        best,
      ),
      element("section", {}, element("h2", {}, "Members"), members),
    );
  }

  return { node, show };
}

function relationChoice(all, chosen) {
  const options = all.map(({ relation }) =>
    element("option", { value: relation, selected: relation === chosen }, label(relation)),
  );
  const select = element("select", { "aria-label": "relation" }, options);
  select.addEventListener("change", () => change({ relation: select.value }));
  return select;
}

function directionChoice(wanted) {
  const options = [
    element("option", { value: "tail" }, "from heads to tails"),
    element("option", { value: "head", selected: wanted === "head" }, "from tails to heads"),
  ];
  const select = element("select", { "aria-label": "direction" }, options);
  select.addEventListener("change", () => change({ wanted: select.value }));
  return select;
}
