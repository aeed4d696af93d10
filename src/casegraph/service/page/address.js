// The address of a view: everything that is shown can be linked to, and found again by going back.
//
// It is behind the #, so that names never leave the browser as part of an address.

const VIEW = "ask";
const LISTS = ["without", "with"];

/** Where we are: the name of a view, and its parameters. */
export function here() {
  const [view, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const parameters = Object.fromEntries(new URLSearchParams(query));
  for (const name of LISTS) parameters[name] = listOf(parameters[name]);
  return { view: view || VIEW, parameters };
}

function listOf(text) {
  try {
    const facts = JSON.parse(text ?? "[]");
    return facts.filter(isFact);
  } catch {
    return [];
  }
}

function isFact(fact) {
  return Array.isArray(fact) && fact.length === 3 && fact.every((name) => typeof name === "string");
}

/** The address of a view, for a link. */
export function to(view, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (LISTS.includes(name)) {
      if (value?.length) query.set(name, JSON.stringify(value));
    } else if (value !== null && value !== undefined && value !== "" && value !== false) {
      query.set(name, value);
    }
  }
  return query.size ? `#${view}?${query}` : `#${view}`;
}

/** Go to a view; `replace` if the present one is not worth going back to. */
export function go(view, parameters = {}, { replace = false } = {}) {
  const address = to(view, parameters);
  if (address === location.hash) {
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else if (replace) {
    location.replace(address);
  } else {
    location.hash = address;
  }
}

/** Go to the present view with some parameters changed. */
export function change(parameters, options = {}) {
  const { view, parameters: present } = here();
  go(view, { ...present, ...parameters }, options);
}

/** The link to the page of an entity. */
export function toEntity(entity) {
  return to("entity", { entity, as_of: here().parameters.as_of });
}

/** The link to a question. */
export function toQuestion(question, more = {}) {
  const { entity, relation, wanted } = question;
  const asked = { entity, relation, wanted: wanted === "head" ? "head" : null };
  return to("ask", { ...asked, as_of: here().parameters.as_of, ...more });
}
