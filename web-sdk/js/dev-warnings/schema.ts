/** Schemas that some AI clients refuse, and with them the tool, or all tools of the page. */

/** Deeper than this is not looked at; a schema may contain itself. */
const MAX_DEPTH = 32;

/** Keywords whose value is a schema, a list of schemas, or an object of schemas. */
const ONE = ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"];
const LIST = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/** Keywords of older drafts: keyword → what to write. */
const OLD = { definitions: "$defs", dependencies: "dependentSchemas or dependentRequired", id: "$id" };

export function adviceOnSchema(field, schema) {
  const advice = [];
  if (schema.type !== undefined && schema.type !== "object") {
    advice.push(`${field} has the type ${JSON.stringify(schema.type)}: MCP wants an object at the root`);
  }
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    if (keyword in schema) advice.push(`${field} has ${keyword} at the root: some AI clients refuse that, below the root they do not`);
  }
  walk(schema, field, advice, 0);
  return advice;
}

function walk(schema, path, advice, depth) {
  if (typeof schema !== "object" || schema === null || depth > MAX_DEPTH) return;
  advice.push(...adviceOnNode(schema, path));
  for (const keyword of ONE) if (!Array.isArray(schema[keyword])) walk(schema[keyword], `${path}.${keyword}`, advice, depth + 1);
  for (const keyword of LIST) each(schema[keyword], (part, index) => walk(part, `${path}.${keyword}[${index}]`, advice, depth + 1));
  for (const keyword of NAMED) each(schema[keyword], (part, name) => walk(part, `${path}.${keyword}.${name}`, advice, depth + 1));
}

function adviceOnNode(schema, path) {
  const advice = [];
  const isArray = schema.type === "array" || schema.type?.includes?.("array");
  if (isArray && !("items" in schema) && !("prefixItems" in schema)) advice.push(`${path} is an array without items: VS Code refuses it`);
  if (Array.isArray(schema.items)) advice.push(`${path}.items is a list: write prefixItems, JSON Schema 2020-12 has it so`);
  for (const [old, now] of Object.entries(OLD)) {
    if (old in schema && typeof schema[old] !== "function" && isKeyword(schema, old)) advice.push(`${path}.${old} is of an older draft: write ${now}`);
  }
  if (typeof schema.exclusiveMinimum === "boolean" || typeof schema.exclusiveMaximum === "boolean") {
    advice.push(`${path}: exclusiveMinimum and exclusiveMaximum are numbers since draft 6`);
  }
  if (typeof schema.$ref === "string" && !schema.$ref.startsWith("#")) {
    advice.push(`${path}.$ref points outside of the schema: nothing is fetched, put the definition into $defs`);
  }
  for (const name of requiredButMissing(schema)) advice.push(`${path} requires "${name}", which is none of its properties`);
  return advice;
}

/** `id` was a keyword with a URI as its value. */
function isKeyword(schema, keyword) {
  return keyword === "id" ? typeof schema.id === "string" : true;
}

function requiredButMissing({ properties, required }) {
  if (!Array.isArray(required) || typeof properties !== "object") return [];
  return required.filter((name) => !(name in properties));
}

function each(parts, visit) {
  if (typeof parts !== "object" || parts === null) return;
  for (const [name, part] of Object.entries(parts)) visit(part, name);
}
