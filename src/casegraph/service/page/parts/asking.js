// From the parameters of an address to what the service is asked.

export const TOP = 10; // answers

/** The question. */
export function questionOf({ entity, relation, wanted }) {
  return { entity, relation, wanted: wanted === "head" ? "head" : "tail" };
}

/** The question, and which of its answers are wanted. */
export function askedFor(parameters) {
  return {
    ...questionOf(parameters),
    top: TOP,
    known: parameters.known === "mark" ? "mark" : "exclude",
    of_type: parameters.type,
    as_of: parameters.as_of,
  };
}
