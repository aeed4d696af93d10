// What the graph has: its counts, relations and types. Each is fetched once for each state.

import { get } from "./api.js";
import { learn } from "./names.js";

const PAGE = 1000;
const ALIKE = 8;
const kept = new Map();

/** Forget everything: the graph has changed. */
export function forget() {
  kept.clear();
}

/** Counts, limits and settings. */
export function info(asOf) {
  return once(`info ${asOf}`, async () => learn(await get("info", { as_of: asOf })));
}

/** All relations, those with most facts first. */
export function relations(asOf) {
  return once(`relations ${asOf}`, async () => {
    const found = [];
    let cursor = null;
    do {
      const page = learn(await get("relations", { limit: PAGE, cursor, as_of: asOf }));
      found.push(...page.relations);
      cursor = page.next;
    } while (cursor);
    return found;
  });
}

/** All types of entities, the most frequent first. */
export function types(asOf) {
  return once(`types ${asOf}`, async () => learn(await get("types", { as_of: asOf })).types);
}

/** The directions of relations that an entity has; none if it is unknown. */
export function profile(entity, asOf) {
  return once(`profile ${asOf} ${entity}`, async () => {
    try {
      return learn(await get("entity", { entity, limit: 1, as_of: asOf }));
    } catch {
      return { profile: [], types: [] };
    }
  });
}

/** What entities like one have. */
export function profilesAlike(entity, asOf) {
  return once(`alike ${asOf} ${entity}`, async () => {
    try {
      const similar = await get("similar", { entity, top: ALIKE, as_of: asOf });
      return Promise.all(similar.neighbours.map((one) => profile(one.entity, asOf)));
    } catch {
      return [];
    }
  });
}

function once(key, fetched) {
  if (!kept.has(key)) {
    const promise = fetched();
    promise.catch(() => kept.delete(key));
    kept.set(key, promise);
  }
  return kept.get(key);
}
