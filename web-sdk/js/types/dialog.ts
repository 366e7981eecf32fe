/** The words of the dialog in which the user of the page is asked. */

/**
 * Words of the dialogs of {@link McpWebOptions.elicitInPage} and {@link QueryOptions.approvalDialog}, such as a translation.
 * Those that are not given are English.
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
   * Opens the arguments of the tool whose handler asks. `tool` is its name as it is shown.
   *
   * @defaultValue `The tool ${tool} asks this.`
   */
  askingTool?: (tool: string) => string;
  /**
   * The line at the end, which says who gets the answer. `asker` is the name of the AI client, `app` that of this app.
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
   * The button that opens an address. `host` is the host of the address with its port, and empty where there is none, as
   * in `mailto:` addresses.
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
   * The name that screen readers have for the button with the cross, which closes the dialog.
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
   * The error of a required selection in which nothing is chosen.
   *
   * @defaultValue `Please choose one.`
   */
  missingChoice?: string;
  /**
   * The error of a field, such as a date, with an input that the browser cannot read.
   *
   * @defaultValue `Please complete this.`
   */
  incomplete?: string;
  /**
   * The error when too few checkboxes are checked. `count` is the smallest number that is allowed.
   *
   * @defaultValue `Please choose at least ${count}.`
   */
  tooFewChoices?: (count: number) => string;
  /**
   * The error when too many checkboxes are checked. `count` is the largest number that is allowed.
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
   * The error of a number that has a fraction where whole numbers are asked for.
   *
   * @defaultValue `Please enter a whole number.`
   */
  notAnInteger?: string;
  /**
   * The error of a number that is too small. `minimum` is the smallest one that is allowed.
   *
   * @defaultValue `Please enter ${minimum} or more.`
   */
  tooSmall?: (minimum: number) => string;
  /**
   * The error of a number that is too large. `maximum` is the largest one that is allowed.
   *
   * @defaultValue `Please enter ${maximum} or less.`
   */
  tooLarge?: (maximum: number) => string;
  /**
   * The error of a text that is too short. `count` is the smallest number of characters that is allowed.
   *
   * @defaultValue `Please enter at least ${count} characters.`
   */
  tooShort?: (count: number) => string;
  /**
   * The error of a text that is too long. `count` is the largest number of characters that is allowed, `length` the number
   * of characters of the text.
   *
   * @defaultValue `Please enter at most ${count} characters: these are ${length}.`
   */
  tooLong?: (count: number, length: number) => string;
  /**
   * The error of a text that does not have the format of an e-mail address, an address of the web or a date. `example` is
   * a text that has it.
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
   * The name that a tool is shown with when the agent wants to call it. `source` is that of a tool which is the agent's own,
   * whose name usually begins with it, such as `notes-read_file`.
   *
   * @defaultValue `${name}`, and with a source the name without the source, and the source, such as `read_file (notes)`
   */
  tool?: (name: string, source?: string) => string;
  /**
   * The question whether the agent may make a call. `tool` is the name of the tool as it is shown.
   *
   * @defaultValue `May the AI use ${tool}?`
   */
  approval?: (tool: string) => string;
  /**
   * Stands below the question about a tool of this page. `app` is the name of this app.
   *
   * @defaultValue `It is a tool of ${app}.`
   */
  pageTool?: (app: string) => string;
  /**
   * Stands below the question about a tool of the agent. `source` is the source of the tool.
   *
   * @defaultValue `It is not a tool of this page, but of “${source}”.`
   */
  sourceTool?: (source: string) => string;
  /**
   * The name that screen readers have for the arguments of a call.
   *
   * @defaultValue `Arguments`
   */
  arguments?: string;
  /**
   * Stands in place of the arguments of a call that has none.
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
   * Says to the person why a question is not asked in the page, where that is in a frame of another site.
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
   * The line at the end of the question about a call, which says when the agent refuses it at the latest.
   *
   * @defaultValue `If nobody answers, the call is refused within ${seconds} s.`
   */
  timeLeft?: (seconds: number) => string;
}
