/** The texts of the dialog that asks the user of the page. */

/**
 * Texts of the dialogs of {@link McpWebOptions.elicitInPage} and {@link QueryOptions.approvalDialog}, such as a
 * translation. Missing ones are English.
 *
 * The dialog takes the rest from the page: the colour scheme is the one of the root element, and these custom properties
 * of the root element replace its font, colours and corners: `--mcp-web-font` (a value of the CSS property `font`, such as
 * `16px/1.5 Inter, sans-serif`), `--mcp-web-accent`, `--mcp-web-accent-text`, `--mcp-web-background`, `--mcp-web-text`,
 * `--mcp-web-muted`, `--mcp-web-border`, `--mcp-web-error`, `--mcp-web-radius`.
 */
export interface DialogStrings {
  /**
   * The title. `asker` is the name of the AI client.
   *
   * @defaultValue `${asker} asks`
   */
  title?: (asker: string) => string;
  /**
   * Expands the arguments of the tool whose handler asks. `tool` is its displayed name.
   *
   * @defaultValue `The tool ${tool} asks this.`
   */
  askingTool?: (tool: string) => string;
  /**
   * The line at the end, which says who receives the answer. `asker` is the name of the AI client, `app` that of this app.
   *
   * @defaultValue `Your answer goes to ${asker} through ${app}.`
   */
  recipient?: (asker: string, app: string) => string;
  /**
   * The button that sends the form.
   *
   * @defaultValue `Send`
   */
  send?: string;
  /**
   * The button that opens an address. `host` is the host of the address with its port, or empty if there is none, as in
   * `mailto:` addresses.
   *
   * @defaultValue `Open ${host}`, and `Open it` without a host
   */
  open?: (host: string) => string;
  /**
   * The button that declines to answer.
   *
   * @defaultValue `Decline`
   */
  decline?: string;
  /**
   * The accessible name of the button with the cross, which closes the dialog.
   *
   * @defaultValue `Cancel`
   */
  cancel?: string;
  /**
   * The empty option of a selection that is required.
   *
   * @defaultValue `Choose …`
   */
  choose?: string;
  /**
   * The empty option of a selection that is optional.
   *
   * @defaultValue `No choice`
   */
  noChoice?: string;
  /**
   * The error of a required field that is empty.
   *
   * @defaultValue `Please fill this in.`
   */
  missing?: string;
  /**
   * The error of a required selection without a choice.
   *
   * @defaultValue `Please choose one.`
   */
  missingChoice?: string;
  /**
   * The error of a field, such as a date, whose input the browser cannot parse.
   *
   * @defaultValue `Please complete this.`
   */
  incomplete?: string;
  /**
   * The error if too few checkboxes are checked. `count` is the minimum number.
   *
   * @defaultValue `Please choose at least ${count}.`
   */
  tooFewChoices?: (count: number) => string;
  /**
   * The error if too many checkboxes are checked. `count` is the maximum number.
   *
   * @defaultValue `Please choose at most ${count}.`
   */
  tooManyChoices?: (count: number) => string;
  /**
   * The error of an input that is not a number.
   *
   * @defaultValue `Please enter a number.`
   */
  notANumber?: string;
  /**
   * The error of a number with a fraction if whole numbers are required.
   *
   * @defaultValue `Please enter a whole number.`
   */
  notAnInteger?: string;
  /**
   * The error of a number that is too small. `minimum` is the smallest allowed number.
   *
   * @defaultValue `Please enter ${minimum} or more.`
   */
  tooSmall?: (minimum: number) => string;
  /**
   * The error of a number that is too large. `maximum` is the largest allowed number.
   *
   * @defaultValue `Please enter ${maximum} or less.`
   */
  tooLarge?: (maximum: number) => string;
  /**
   * The error of a text that is too short. `count` is the minimum number of characters.
   *
   * @defaultValue `Please enter at least ${count} characters.`
   */
  tooShort?: (count: number) => string;
  /**
   * The error of a text that is too long. `count` is the maximum number of characters, `length` that of the text.
   *
   * @defaultValue `Please enter at most ${count} characters: these are ${length}.`
   */
  tooLong?: (count: number, length: number) => string;
  /**
   * The error of a text that does not have the format of an e-mail address, a web address or a date. `example` is a valid
   * text.
   *
   * @defaultValue `Please enter something like ${example}.`
   */
  wrongFormat?: (example: string) => string;
  /**
   * The error of a text that does not match the pattern of the schema.
   *
   * @defaultValue `Please enter it in the form that is asked for.`
   */
  wrongPattern?: string;
  /**
   * The displayed name of a tool that the agent wants to call. `source` is that of one of the agent's own tools, whose name
   * usually begins with it, such as `notes-read_file`.
   *
   * @defaultValue `${name}`; with a source, the name without the source, followed by the source, such as
   * `read_file (notes)`
   */
  tool?: (name: string, source?: string) => string;
  /**
   * The question whether the agent may make a call. `tool` is the displayed name of the tool.
   *
   * @defaultValue `May the AI use ${tool}?`
   */
  approval?: (tool: string) => string;
  /**
   * The text below the question about a tool of this page. `app` is the name of this app.
   *
   * @defaultValue `It is a tool of ${app}.`
   */
  pageTool?: (app: string) => string;
  /**
   * The text below the question about a tool of the agent. `source` is the source of the tool.
   *
   * @defaultValue `It is not a tool of this page, but of “${source}”.`
   */
  sourceTool?: (source: string) => string;
  /**
   * The accessible name of the arguments of a call.
   *
   * @defaultValue `Arguments`
   */
  arguments?: string;
  /**
   * The text for a call without arguments.
   *
   * @defaultValue `The call has no arguments.`
   */
  noArguments?: string;
  /**
   * The button that allows a call.
   *
   * @defaultValue `Allow`
   */
  approve?: string;
  /**
   * The button that refuses a call.
   *
   * @defaultValue `Do not allow`
   */
  deny?: string;
  /**
   * Explains to the person why a question is not asked in the page, if the page is in a frame of another site.
   *
   * @defaultValue `This page is shown inside of another site, which could cover the question. Answer it in a separate window.`
   */
  framed?: string;
  /**
   * The button that opens a window with the question.
   *
   * @defaultValue `Open a window`
   */
  openWindow?: string;
  /**
   * The line at the end of the question about a call, with the latest time at which the agent refuses it.
   *
   * @defaultValue `If nobody answers, the call is refused within ${seconds} s.`
   */
  timeLeft?: (seconds: number) => string;
}
