// Finds reads of a property of a document, or of an element that may be a form, otherwise than by its prototypes.
// Arguments: the folder of the packages, the project's tsconfig.json, and the files that may read so.
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const [packages, project, ...allowed] = process.argv.slice(2);
const load = (module) => import(pathToFileURL(join(packages, "typescript/dist", module)).href);
const { API, SymbolFlags, TypeFlags } = await load("api/sync/api.js");
const { SyntaxKind, getTokenPosOfNode } = await load("ast/index.js");

const folder = join(dirname(project), "js");
const api = new API();
const { checker, program } = api.updateSnapshot({ openProjects: [project] }).getProject(project);

const isOfBrowser = (symbol) => symbol?.declarations.some(({ path }) => /\/lib\.dom[^/]*$/.test(path)) ?? false;

/** The names of the types that a value may have which is a document or a form: these, and what they extend. */
const clobbered = new Set(["HTMLDocument", "XMLDocument"]);
function add(type) {
  clobbered.add(type.getSymbol().name);
  for (const base of checker.getBaseTypes(type)) add(base);
}
for (const name of ["Document", "HTMLFormElement"]) add(checker.getDeclaredTypeOfSymbol(checker.resolveName(name, SymbolFlags.Interface)));

/** Whether a type is of the browser, and no value of it is a document or a form. */
const isSafe = (type) => isOfBrowser(type.getSymbol()) && !findClobbered(type);

/** Returns the name of the type for which a value of a type may be a document or a form. */
function findClobbered(type) {
  if (type.isUnionType()) return type.getTypes().map(findClobbered).find(Boolean);
  if (type.isIntersectionType()) return type.getTypes().some(isSafe) ? undefined : type.getTypes().map(findClobbered).find(Boolean);
  if (type.flags & TypeFlags.TypeParameter) {
    const constraint = checker.getBaseConstraintOfType(type);
    return constraint && findClobbered(constraint);
  }
  const symbol = type.getSymbol();
  if (isOfBrowser(symbol)) return clobbered.has(symbol.name) ? symbol.name : undefined;
  // An interface of the project that extends one of the browser. A class of the project is not a form.
  return symbol && symbol.flags & SymbolFlags.Interface ? checker.getBaseTypes(type).map(findClobbered).find(Boolean) : undefined;
}

/** Properties of prototypes are those that are wanted. */
const isPrototype = (node) => (node.kind === SyntaxKind.Identifier ? node : node.name)?.text === "prototype";

/** Returns an expression without its cast, which does not change the object. */
function withoutCast(node) {
  const isAround = [SyntaxKind.AsExpression, SyntaxKind.NonNullExpression, SyntaxKind.ParenthesizedExpression].includes(node.kind);
  return isAround ? withoutCast(node.expression) : node;
}

/** Returns the reads of properties in a file: the owners, and the names of the properties. */
function readsIn(file) {
  const reads = [];
  const visit = (node) => {
    if (node.kind === SyntaxKind.PropertyAccessExpression && !isPrototype(node.expression)) reads.push({ node, owner: node.expression, names: [node.name.text] });
    if (node.kind === SyntaxKind.ElementAccessExpression) reads.push({ node, owner: node.expression, names: [textOf(node.argumentExpression, file).replaceAll('"', "")] });
    if (node.kind === SyntaxKind.ObjectBindingPattern) {
      const names = node.elements.map(({ propertyName, name }) => textOf(propertyName ?? name, file));
      reads.push({ node, owner: node.parent.initializer ?? node, names });
    }
    node.forEachChild(visit);
  };
  visit(file);
  return reads.map(({ owner, ...read }) => ({ owner: withoutCast(owner), ...read }));
}

const textOf = (node, file) => file.text.slice(getTokenPosOfNode(node, file), node.end);

for (const path of program.getSourceFileNames()) {
  const name = relative(folder, path);
  if (name.startsWith("..") || allowed.includes(name)) continue;
  const file = program.getSourceFile(path);
  const reads = readsIn(file);
  const types = checker.getTypeAtLocation(reads.map(({ owner }) => owner));
  reads.forEach(({ node, owner, names }, index) => {
    const type = types[index] && findClobbered(types[index]);
    if (!type) return;
    const line = file.text.slice(0, getTokenPosOfNode(node, file)).split("\n").length;
    const receiver = owner === node ? "…" : textOf(owner, file).replace(/\s+/g, " ");
    for (const property of names) console.log(`js/${name}:${line}: ${property} of ${type}: use read, write or invoke(${receiver}, "${property}")`);
  });
}
api.close();
