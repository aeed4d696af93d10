// Clusters: entities that have the same relations, as a tree and as a list.

import { get } from "../api.js";
import { to } from "../address.js";
import { info } from "../catalogue.js";
import { element, fill, joined } from "../dom.js";
import { counted, entityLink, learn, named, number } from "../names.js";
import { emptyGraph } from "../parts/emptiness.js";
import { paged } from "../parts/more.js";
import { drawTree } from "../parts/tree.js";

const PAGE = 30;

export function clustersView() {
  const node = element("div", { class: "page" });

  async function show({ as_of: asOf }, signal) {
    document.title = "Clusters – casegraph";
    const about = await info(asOf);
    if (!about.facts) return fill(node, emptyGraph(about));
    const first = learn(await get("clusters", { limit: PAGE, as_of: asOf }, signal));
    const members = new Map(first.clusters.map((one) => [one.cluster, one.members]));
    const tree = await get("clusters/tree", { as_of: asOf }, signal);
    const list = await paged(async (cursor) => {
      const parameters = { limit: PAGE, cursor, as_of: asOf };
      const page = cursor === null ? first : learn(await get("clusters", parameters, signal));
      const cards = page.clusters.map((one) => clusterShown(one, asOf));
      return { node: element("div", { class: "masonry" }, cards), next: page.next };
    });
    const scroll = { class: "scroll tall", tabindex: "0", role: "group", "aria-label": "tree" };
    const least = `within a cluster, their mean similarity is ${first.threshold} or more.`;
    const words = `Entities are similar if they have the same relations; ${least}`;
    fill(
      node,
      element("h1", {}, "Clusters"),
      element("p", { class: "lead" }, words),
      element(
        "section",
        {},
        element("h2", {}, "The tree"),
        element("div", scroll, drawTree(tree, members)),
      ),
      list,
    );
  }

  return { node, show };
}

function clusterShown(cluster, asOf) {
  const address = to("cluster", { cluster: cluster.cluster, as_of: asOf });
  const members = cluster.members.map((name) => entityLink(name));
  const rest = cluster.size - members.length;
  return element(
    "section",
    {},
    element(
      "h2",
      {},
      element("a", { href: address }, `Cluster ${cluster.cluster}`),
      ` · ${counted(cluster.size, "entity", "entities")}`,
    ),
    element("p", {}, joined(members, ", "), rest > 0 ? ` and ${number(rest)} more` : null),
    element("p", { class: "row" }, cluster.relations.map((one) => relationTag(one, cluster.size))),
  );
}

/** A direction that members have, and how many of them. */
export function relationTag({ relation, inverse, count }, size) {
  const share = count < size ? ` ${Math.round((100 * count) / size)} %` : "";
  return element("span", { class: "tag" }, inverse ? "← " : "→ ", named(relation), share);
}
