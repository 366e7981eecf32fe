/** Returns values that differ from those that another framework sets. */
export const properties = (framework) => ({
  suggestions: [`Asked in ${framework}`],
  strings: { framework },
  context: Object.assign(() => [], { framework }),
  options: Object.assign(() => ({}), { framework }),
  answer: Object.assign(() => undefined, { framework }),
  // The element needs no more of it until a question is asked.
  mcpWeb: { framework },
});
