/** Mutants of requests: the same request with one fault. */

/** The fields in which the types allow anything: schemas, arguments and results of tools. */
const ANYTHING = new Set([
  "args",
  "input_schema",
  "parameters",
  "parametersJsonSchema",
  "response",
  "responseJsonSchema",
  "schema",
]);

/** The fields that may be any string. The strings of all others are names that the API has. */
const ANY_STRING = new Set([
  "allowedFunctionNames",
  "arguments",
  "call_id",
  "content",
  "data",
  "description",
  "encrypted_content",
  "file_data",
  "filename",
  "id",
  "image_url",
  "mimeType",
  "model",
  "name",
  "output",
  "prompt_cache_key",
  "responseMimeType",
  "signature",
  "stop",
  "stopSequences",
  "stop_sequences",
  "system",
  "text",
  "thoughtSignature",
  "tool_call_id",
  "tool_use_id",
  "url",
]);

/** Returns whether the types allow anything below a path. */
function allowsAnything(path, type) {
  const name = path.at(-1);
  // The input of a call. That of Responses is the conversation.
  const isInput = name === "input" && type.toLowerCase().endsWith("messages");
  return ANYTHING.has(name) || isInput;
}

function allowsAnyString(path, type) {
  const name = path.findLast((step) => typeof step === "string");
  const isOpen = (name === "role" && type === "gemini") || (name === "thinking" && path.length > 1);
  return ANY_STRING.has(name) || isOpen;
}

/**
 * Returns each value in a body that has a type, with its path, and with its place: the path, with the kind
 * of an element instead of its index.
 */
function* values(value, type, path = [], place = "") {
  if (path.length > 0) {
    yield { path, place, value };
  }
  if (value === null || typeof value !== "object" || allowsAnything(path, type)) {
    return;
  }
  const isList = Array.isArray(value);
  for (const [key, inner] of Object.entries(value)) {
    const kind = inner?.type ?? inner?.role ?? Object.keys(inner ?? {})[0] ?? "";
    const step = isList ? `[${typeof inner === "string" ? "" : kind}]` : `.${key}`;
    yield* values(inner, type, [...path, isList ? Number(key) : key], place + step);
  }
}

/** The faults, with a change of an object or a list. */
const FAULTS = [
  {
    name: "another name",
    fits: ({ path }) => typeof path.at(-1) === "string",
    change(parent, name) {
      parent[`${name}_`] = parent[name];
      delete parent[name];
    },
  },
  {
    name: "another type",
    fits: ({ path, value }, type) => value !== null && !allowsAnything(path, type),
    change(parent, name) {
      parent[name] = typeof parent[name] === "number" ? "17" : 17;
    },
  },
  {
    name: "an unknown value",
    fits: ({ path, value }, type) => typeof value === "string" && !allowsAnyString(path, type),
    change(parent, name) {
      parent[name] += "_";
    },
  },
];

/**
 * Returns the mutants of a request: each fault in each place where no earlier request had it, and at least
 * one, which depends on the number of the request.
 */
export function mutants(body, type, tried, number) {
  const found = [...values(body, type)];
  const all = found.flatMap((it) => {
    const fitting = FAULTS.filter((fault) => fault.fits(it, type));
    return fitting.map((fault) => ({ ...it, fault }));
  });
  const isNew = ({ place, fault }) => {
    const key = `${type} ${place} ${fault.name}`;
    return !tried.has(key) && tried.add(key);
  };
  const selected = all.filter(isNew);
  if (selected.length === 0) {
    selected.push(all[number % all.length]);
  }
  return selected.map(({ path, place, fault }) => {
    const changed = structuredClone(body);
    const parent = path.slice(0, -1).reduce((value, step) => value[step], changed);
    fault.change(parent, path.at(-1));
    return { body: changed, fault: `${fault.name} of ${place}` };
  });
}
