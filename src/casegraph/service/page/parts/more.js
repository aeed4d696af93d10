// Lists that come in pages: what is there, and a button for more.

import { button, element, fill } from "../dom.js";

/**
 * Show pages one below the other.
 *
 * fetched  from a cursor (null at first) to {nodes, next}
 */
export async function paged(fetched) {
  const pages = element("div", { class: "stack" });
  const foot = element("p", { class: "row" });
  const grow = async (cursor) => {
    const { node, next } = await fetched(cursor);
    pages.append(node);
    fill(foot, next ? button("More", () => grow(next)) : null);
  };
  await grow(null);
  return element("div", { class: "stack" }, pages, foot);
}
