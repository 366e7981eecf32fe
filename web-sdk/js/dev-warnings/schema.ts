/** Finds schemas that some AI clients reject, and with them the tool or all tools of the page. */

/** A JSON Schema. A keyword may have any value: the bridge decides whether that is valid. */
export type SchemaObject = { [keyword: string]: any };

/** Deeper levels are not checked, because a schema may contain itself. */
const MAX_DEPTH = 32;

/** Keywords whose value is a schema, a list of schemas, or an object of schemas. */
const ONE = ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"];
const LIST = ["allOf", "anyOf", "oneOf", "prefixItems"];
const NAMED = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/** Keywords of older drafts, with their replacements. */
const OLD_KEYWORDS: { [keyword: string]: string } = { definitions: "$defs", dependencies: "dependentSchemas or dependentRequired", id: "$id" };

/** Returns the warnings about a schema in the field of a tool. */
export function schemaWarnings(field: string, schema: SchemaObject): string[] {
  const warnings: string[] = [];
  if (schema.type !== undefined && schema.type !== "object") {
    warnings.push(`${field} has the type ${JSON.stringify(schema.type)}: MCP wants an object at the root`);
  }
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    if (keyword in schema) warnings.push(`${field} has ${keyword} at the root: some AI clients refuse that, below the root they do not`);
  }
  walk(schema, field, warnings, 0);
  return warnings;
}

function walk(schema: SchemaObject, path: string, warnings: string[], depth: number): void {
  if (typeof schema !== "object" || schema === null || depth > MAX_DEPTH) return;
  warnings.push(...nodeWarnings(schema, path));
  for (const keyword of ONE) if (!Array.isArray(schema[keyword])) walk(schema[keyword], `${path}.${keyword}`, warnings, depth + 1);
  for (const keyword of LIST) each(schema[keyword], (part, index) => walk(part, `${path}.${keyword}[${index}]`, warnings, depth + 1));
  for (const keyword of NAMED) each(schema[keyword], (part, name) => walk(part, `${path}.${keyword}.${name}`, warnings, depth + 1));
}

function nodeWarnings(schema: SchemaObject, path: string): string[] {
  const warnings: string[] = [];
  const isArray = schema.type === "array" || schema.type?.includes?.("array");
  if (isArray && !("items" in schema) && !("prefixItems" in schema)) warnings.push(`${path} is an array without items: VS Code refuses it`);
  if (Array.isArray(schema.items)) warnings.push(`${path}.items is a list: write prefixItems, JSON Schema 2020-12 has it so`);
  for (const [old, now] of Object.entries(OLD_KEYWORDS)) {
    if (old in schema && typeof schema[old] !== "function" && isKeyword(schema, old)) warnings.push(`${path}.${old} is of an older draft: write ${now}`);
  }
  if (typeof schema.exclusiveMinimum === "boolean" || typeof schema.exclusiveMaximum === "boolean") {
    warnings.push(`${path}: exclusiveMinimum and exclusiveMaximum are numbers since draft 6`);
  }
  if (typeof schema.$ref === "string" && !schema.$ref.startsWith("#")) {
    warnings.push(`${path}.$ref points outside of the schema: nothing is fetched, put the definition into $defs`);
  }
  for (const name of requiredButMissing(schema)) warnings.push(`${path} requires "${name}", which is none of its properties`);
  return warnings;
}

/** `id` was a keyword whose value was a URI. */
function isKeyword(schema: SchemaObject, keyword: string): boolean {
  return keyword === "id" ? typeof schema.id === "string" : true;
}

function requiredButMissing({ properties, required }: SchemaObject): string[] {
  if (!Array.isArray(required) || typeof properties !== "object") return [];
  return required.filter((name: string) => !(name in properties));
}

function each(parts: unknown, visit: (part: SchemaObject, name: string) => void): void {
  if (typeof parts !== "object" || parts === null) return;
  for (const [name, part] of Object.entries(parts)) visit(part, name);
}
