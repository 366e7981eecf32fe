/** The index of the reference. */

/** Returns the page: a row for each entry. */
export function indexPage(project, router) {
  const rows = project.children.map((entry) => {
    const [summary] = text(entry.comment?.summary ?? []).split("\n\n");
    return `| [\`${entry.name}\`](${router.getFullUrl(entry)}) | ${summary.replaceAll("\n", " ")} |`;
  });
  const inline = `| \`${project.name}/inline\` | Exports the same as \`${project.name}\`, in one module that contains the wasm. |`;
  return `# API reference

This is what the npm package \`${project.name}\` exports: every function and type with its signature, defaults, errors and
examples. \`cargo xtask api\` generates these pages from the comments in [\`web-sdk/js\`](../../web-sdk/js). The
[guides](../../docs/README.md) describe how to use it.

| module | content |
|---|---|
${[rows[0], inline, ...rows.slice(1)].join("\n")}
`;
}

const text = (parts) => parts.map((part) => part.text).join("");
