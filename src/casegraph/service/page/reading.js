// Reading a file of facts in the browser: a table as text, or JSON lines, packed by gzip or not.

const MOST_BYTES = 64 * 1024 * 1024;
const SEPARATORS = ["\t", ",", ";"];
const ROLES = {
  head: ["head", "subject", "source", "from", "start", "s", "h", "entity", "subject_id"],
  relation: ["relation", "predicate", "property", "edge", "type", "label", "r", "p", "rel"],
  tail: ["tail", "object", "target", "to", "end", "o", "t", "value", "object_id"],
};

/** A file as a table: {name, rows, columns, hasHeader}; an error says what is wrong with it. */
export async function readTable(file) {
  if (file.size > MOST_BYTES) {
    throw new Error("the file is too large for a browser; use casegraph add, which reads any size");
  }
  const text = await textOf(file);
  const isJson = /\.(jsonl|ndjson)(\.gz)?$/i.test(file.name) || /^\s*\{/.test(text);
  const table = isJson ? jsonTable(text) : delimitedTable(text);
  if (!table.rows.length) throw new Error("the file holds no rows");
  return { name: file.name, ...table };
}

async function textOf(file) {
  const bytes = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isPacked) return file.text();
  const unpacked = file.stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked).text();
}

function jsonTable(text) {
  const objects = [];
  for (const [number, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    try {
      objects.push(JSON.parse(line));
    } catch {
      throw new Error(`line ${number + 1} is no JSON`);
    }
  }
  const columns = Object.keys(objects[0] ?? {});
  const rows = objects.map((one) => columns.map((column) => cellOf(one[column])));
  return { columns, rows, hasHeader: true };
}

function cellOf(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function delimitedTable(text) {
  const clean = text.replace(/^\ufeff/, "");
  const separator = separatorOf(clean);
  const lines = separator === "\t" ? plainRows(clean) : quotedRows(clean, separator);
  const rows = lines.filter((row) => row.some((cell) => cell.trim() !== ""));
  const width = Math.max(0, ...rows.slice(0, 100).map((row) => row.length));
  const hasHeader = rows.length > 1 && looksLikeHeader(rows);
  const columns = hasHeader
    ? rows[0].map((cell) => cell.trim())
    : Array.from({ length: width }, (_, place) => `column ${place + 1}`);
  return { columns, rows: hasHeader ? rows.slice(1) : rows, hasHeader };
}

/** The separator that the first line has most of. */
function separatorOf(text) {
  const line = text.slice(0, 10_000).split("\n", 1)[0];
  const counts = SEPARATORS.map((separator) => line.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
}

function plainRows(text) {
  return text.split(/\r?\n/).map((line) => line.split("\t"));
}

/** Rows of comma-separated values; a cell in quotes may hold anything, quotes doubled. */
function quotedRows(text, separator) {
  const rows = [];
  let row = [];
  let cell = "";
  let isQuoted = false;
  for (let place = 0; place < text.length; place += 1) {
    const sign = text[place];
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (text[place + 1] === '"') {
        cell += '"';
        place += 1;
      } else isQuoted = false;
    } else if (sign === '"' && cell === "") isQuoted = true;
    else if (sign === separator) {
      row.push(cell);
      cell = "";
    } else if (sign === "\n") {
      rows.push([...row, cell.replace(/\r$/, "")]);
      row = [];
      cell = "";
    } else cell += sign;
  }
  if (cell || row.length) rows.push([...row, cell]);
  return rows;
}

/** Two names of columns that we know, or one that no other row has in its place. */
function looksLikeHeader([first, ...rest]) {
  const places = [...first.keys()].filter((place) => roleOf(first[place]) !== null);
  if (places.length !== 1) return places.length > 1;
  const [place] = places;
  const isWord = first[place].trim().length > 2;
  return isWord && !rest.some((row) => row[place] === first[place]);
}

function roleOf(column) {
  const name = column.trim().toLowerCase();
  const found = Object.entries(ROLES).find(([, names]) => names.includes(name));
  return found ? found[0] : null;
}

/** Which columns hold heads, relations and tails: by their names, the rest in their order. */
export function rolesOf({ columns }) {
  const roles = { head: -1, relation: -1, tail: -1 };
  for (const [place, column] of columns.entries()) {
    const role = roleOf(column);
    if (role && roles[role] < 0) roles[role] = place;
  }
  const hasRelation = columns.length > 2;
  const open = hasRelation ? ["head", "relation", "tail"] : ["head", "tail"];
  const free = [...columns.keys()].filter((place) => !Object.values(roles).includes(place));
  for (const role of open) {
    if (roles[role] < 0) roles[role] = free.shift() ?? 0;
  }
  return roles;
}

/**
 * The facts of a table, each once, and how many rows have none.
 *
 * roles  the columns of head, relation and tail
 * same   the relation of all, where no column holds it
 */
export function factsOf({ rows }, roles, same = "") {
  const facts = new Map();
  let skipped = 0;
  for (const row of rows) {
    const relation = roles.relation < 0 ? same : row[roles.relation];
    const fact = [row[roles.head], relation, row[roles.tail]].map((cell) => (cell ?? "").trim());
    const isWhole = fact.every((name) => name !== "" && !/[\t\r\n]/.test(name));
    if (isWhole) facts.set(JSON.stringify(fact), fact);
    else skipped += 1;
  }
  return { facts: [...facts.values()], skipped };
}
