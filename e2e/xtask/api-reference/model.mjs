/** Changes the model that TypeDoc has made of the sources. */

import { relative } from "node:path";
import { ReflectionCategory, ReflectionFlag, ReflectionKind, UnknownType } from "typedoc";

/** The headings of the main page, with the sources whose exports are below each. */
const TOPICS = {
  "The page": ["mcp-web.ts", "types/options.ts"],
  Definitions: ["types/definitions.ts"],
  Handles: ["types/handles.ts"],
  Calls: ["types/calls.ts"],
  "Results and content": ["mcp-web/content.ts", "types/content.ts"],
  Queries: ["types/query.ts", "types/conversation.ts"],
  Connection: ["types/status.ts"],
  Errors: ["mcp-web/error.ts", "types/error-codes.ts"],
  Schemas: ["types/infer.ts"],
  Dialog: ["types/dialog.ts"],
  WebMCP: ["types/webmcp.ts"],
  "Plain HTTP": ["types/plain-http.ts"],
};

const codes = new WeakMap();

/** Returns the code that is shown of a declaration: a type alias, the first line of a class or interface, a signature. */
export const codeOf = (reflection) => codes.get(reflection);

/** Changes the model before references and links are resolved. */
export function adaptModel(context, entries) {
  const { project } = context;
  for (const { name, module } of entries) {
    const page = project.children.find((child) => child.name === module);
    page.name = name;
    for (const child of page.children) adaptExport(context, child);
  }
  const reflections = Object.values(project.reflections);
  for (const { comment } of reflections) if (comment) moveDefault(comment);
  // The fields of an object type without a name are described where the type is used.
  const names = reflections.filter(isField).map((field) => field.getFriendlyFullName());
  context.converter.application.options.setValue("intentionallyNotDocumented", names);
}

/** Returns whether something is a field without a description, of an object type that is not a parameter. */
const isField = (child) =>
  child.kindOf(ReflectionKind.Property) &&
  child.parent.kindOf(ReflectionKind.TypeLiteral) &&
  !child.comment &&
  !isInParameter(child);

const isInParameter = ({ parent }) => parent && (parent.kindOf(ReflectionKind.Parameter) || isInParameter(parent));

/** Groups the exports of the main module by topic. */
export function groupByTopic(context) {
  const sources = context.converter.application.options.getValue("basePath");
  const [main] = context.project.children;
  const fileOf = (child) => relative(sources, declarationOf(context, child).getSourceFile().fileName);
  main.categories = Object.entries(TOPICS).map(([title, files]) => {
    const topic = new ReflectionCategory(title);
    topic.children = files.flatMap((file) => main.children.filter((child) => fileOf(child) === file));
    return topic;
  });
  for (const child of main.children) {
    if (Object.values(TOPICS).flat().includes(fileOf(child))) continue;
    context.logger.error(`add ${fileOf(child)}, which exports ${child.name}, to TOPICS in e2e/xtask/api-reference/model.mjs`);
  }
}

function adaptExport(context, reflection) {
  const { project } = context;
  keepSignatures(context, reflection);
  if (reflection.kindOf(ReflectionKind.TypeAlias)) {
    // TypeDoc would take the type apart, and repeat its comments below it.
    codes.set(reflection, aliasCode(declarationOf(context, reflection)));
    removeNested(project, reflection);
    reflection.type = new UnknownType("");
  }
  if (reflection.kindOf(ReflectionKind.ClassOrInterface)) {
    codes.set(reflection, headCode(declarationOf(context, reflection)));
    const children = [...(reflection.children ?? [])];
    for (const child of children.filter((child) => child.kindOf(ReflectionKind.Accessor))) makeProperty(project, child);
    // Inherited members are documented with the class or interface that declares them.
    for (const child of children.filter(isInheritedMethod)) project.removeReflection(child);
    for (const child of reflection.children ?? []) keepSignatures(context, child);
  }
}

/** Shows signatures with the line breaks that they have in the source. */
function keepSignatures(context, reflection) {
  if (!reflection.kindOf(ReflectionKind.FunctionOrMethod | ReflectionKind.Constructor)) return;
  const { declarations } = context.getSymbolFromReflection(reflection);
  reflection.signatures.forEach((signature, index) => {
    const declaration = declarations[index];
    codes.set(signature, signatureCode(declaration).replace(/^constructor/, `new ${reflection.parent.name}`));
    // TypeDoc takes the names in the comment.
    if (signature.comment?.getIdentifiedTag("props", "@param")) return;
    signature.parameters?.forEach((parameter, index) => nameParameter(parameter, declaration.parameters[index].name));
  });
}

/** Names a parameter that has no name by the fields that the function takes from it. */
function nameParameter(parameter, { elements }) {
  if (!elements || parameter.name !== "__namedParameters") return;
  parameter.name = `{ ${elements.map(({ name }) => name.getText()).join(", ")} }`;
}

const declarationOf = (context, reflection) => context.getSymbolFromReflection(reflection).declarations[0];

/** Returns the declaration of an alias, with the names in its comments instead of links. */
const aliasCode = (declaration) =>
  withoutExport(declaration.getText()).replace(/\{@link ([^}]+)\}/g, (_, name) => `\`${name}\``);

/** Returns the first line of a class or interface: its name with type parameters, and what it extends. */
function headCode(declaration) {
  const { text } = declaration.getSourceFile();
  const head = text.slice(declaration.getStart(), declaration.members.pos).replace(/\s*\{$/, "");
  return withoutExport(head).replace(/\s+/g, " ");
}

/** Returns a function or method without its body. */
function signatureCode(declaration) {
  const { text } = declaration.getSourceFile();
  const code = text.slice(declaration.getStart(), declaration.body?.pos ?? declaration.end).trimEnd();
  const [indentation] = /[ ]*$/.exec(text.slice(0, declaration.getStart()));
  return withoutExport(code).replaceAll(`\n${indentation}`, "\n").replace(/^async /, "").replace(/;?$/, ";");
}

const withoutExport = (code) => code.replace(/^export (declare )?/, "");

const isInheritedMethod = (child) => child.kindOf(ReflectionKind.Method | ReflectionKind.Constructor) && child.inheritedFrom;

/** Removes the members that the type of a declaration declares. */
function removeNested(project, reflection) {
  const isNested = (other) => other.parent && (other.parent === reflection || isNested(other.parent));
  const isTypeParameter = (other) => other.kindOf(ReflectionKind.TypeParameter);
  const nested = Object.values(project.reflections).filter((other) => isNested(other) && !isTypeParameter(other));
  for (const other of nested) project.removeReflection(other);
}

/** Makes a getter a property, because it is used as one: a property that can only be read unless there is a setter. */
function makeProperty(project, accessor) {
  const { getSignature, setSignature } = accessor;
  accessor.kind = ReflectionKind.Property;
  accessor.type = getSignature.type;
  accessor.comment = getSignature.comment;
  if (setSignature) project.removeReflection(setSignature);
  else accessor.setFlag(ReflectionFlag.Readonly);
  getSignature.comment = undefined;
  project.removeReflection(getSignature);
}

/** Writes the default value behind the description. */
function moveDefault(comment) {
  const tag = comment.getTag("@defaultValue");
  if (!tag) return;
  comment.removeTags("@defaultValue");
  comment.summary.push({ kind: "text", text: comment.summary.length ? "\n\nDefault: " : "Default: " }, ...tag.content);
}
