/** How the pages look, where that differs from the plugin's own theme. */

import { MarkdownTheme, MarkdownThemeContext } from "typedoc-plugin-markdown";
import { ReferenceReflection, ReflectionKind } from "typedoc";
import { codeOf } from "./model.mjs";

export class ApiTheme extends MarkdownTheme {
  getRenderContext(page) {
    return new ApiThemeContext(this, page, this.application.options);
  }
}

class ApiThemeContext extends MarkdownThemeContext {
  constructor(theme, page, options) {
    super(theme, page, options);
    const { partials } = this;
    this.partials = {
      ...partials,
      body: (model, options) => (model.kindOf(ReflectionKind.Module) ? this.#modulePage(model) : partials.body(model, options)),
      declaration: (model, options) =>
        model.kindOf(ReflectionKind.TypeAlias) ? this.#typeAlias(model) : partials.declaration(model, options),
      memberWithGroups: (model, options) =>
        model.kindOf(ReflectionKind.ClassOrInterface) ? this.#type(model, options) : partials.memberWithGroups(model, options),
      signature: (model, options) => this.#signature(model, options),
    };
  }

  /** The contents, then everything that the module exports. */
  #modulePage(model) {
    const sections = (model.categories ?? model.groups).map(({ title, children }) => ({
      title,
      own: children.filter((child) => !(child instanceof ReferenceReflection)),
      references: children.filter((child) => child instanceof ReferenceReflection),
    }));
    const lines = sections.map(({ title, own, references }) => {
      const names = [...own, ...references].map((child) => this.#link(child));
      return `- ${title}: ${names.join(", ")}`;
    });
    const bodies = sections
      .filter(({ own }) => own.length)
      .map(({ title, own }) => `## ${title}\n\n${this.partials.members(own, { headingLevel: 3 })}`);
    return [`${lines.join("\n")}`, ...bodies].join("\n\n");
  }

  #link(reflection) {
    const target = reflection instanceof ReferenceReflection ? reflection.getTargetReflectionDeep() : reflection;
    return `[\`${reflection.name}\`](${this.urlTo(target)})`;
  }

  #typeAlias(model) {
    return joined([code(codeOf(model)), this.#comment(model.comment)]);
  }

  #type(model, options) {
    return joined([
      code(codeOf(model)),
      this.#comment(model.comment),
      this.#inheritance(model),
      ...(model.indexSignatures ?? []).map((signature) => this.#comment(signature.comment)),
      this.partials.body(model, { headingLevel: options.headingLevel }),
    ]);
  }

  /** The documented types that a type extends, and those that extend it. */
  #inheritance(model) {
    const list = (text, types = []) => {
      const links = types.filter(({ reflection }) => reflection).map((type) => this.partials.someType(type));
      return links.length ? `${text} ${links.join(", ")}.` : "";
    };
    return joined([list("Extends", model.extendedTypes), list("Extended by", model.extendedBy)], " ");
  }

  #signature(model, { multipleSignatures }) {
    const comment = multipleSignatures ? model.comment : (model.comment ?? model.parent?.comment);
    return joined([
      codeOf(model) ? code(codeOf(model)) : this.partials.signatureTitle(model, {}),
      this.#comment(comment, { showTags: false }),
      this.#parameters(model),
      this.#returns(model, comment),
      this.#comment(comment, { showSummary: false }),
    ]);
  }

  /** A table, if it has more than the signature: a description, or a link to a type. */
  #parameters({ parameters = [] }) {
    if (!parameters.length) return "";
    const table = this.partials.parametersTable(parameters);
    const hasDescription = parameters.some(({ comment }) => comment);
    return hasDescription || table.includes("](") ? table : "";
  }

  #returns({ type, kind }, comment) {
    if (!type || kind === ReflectionKind.ConstructorSignature) return "";
    const text = comment?.getTag("@returns");
    const description = text ? this.helpers.getCommentParts(text.content) : "";
    const link = this.helpers.getReturnType(type);
    if (!description && !link.includes("](")) return "";
    return `**Returns** ${joined([link, description], ": ")}`;
  }

  #comment(comment, options) {
    return comment ? this.partials.comment(comment, options) : "";
  }
}

const code = (text) => `\`\`\`ts\n${text}\n\`\`\``;

const joined = (parts, separator = "\n\n") => parts.filter((part) => part?.trim()).join(separator);
