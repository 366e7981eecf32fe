/** The words of the dialog in which the user of the page is asked. */

/**
 * Words of the dialog of {@link McpWebOptions.elicitInPage}, such as a translation. Those that are not given are English.
 *
 * The dialog takes the rest from the page: the colour scheme is the one of the root element, and these custom properties
 * of the root element replace its font, colours and corners: `--mcp-web-font`, `--mcp-web-accent`,
 * `--mcp-web-accent-text`, `--mcp-web-background`, `--mcp-web-text`, `--mcp-web-muted`, `--mcp-web-border`,
 * `--mcp-web-error`, `--mcp-web-radius`.
 */
export interface DialogStrings {
  /** The title. @defaultValue `${asker} asks` */
  title?: (asker: string) => string;
  /** Who gets the answer. @defaultValue `Your answer goes to ${asker} through ${app}.` */
  recipient?: (asker: string, app: string) => string;
  /** The button that sends the form. @defaultValue `Send` */
  send?: string;
  /** The button that opens an address. @defaultValue `Open ${host}` */
  open?: (host: string) => string;
  /** The button that declines. @defaultValue `Decline` */
  decline?: string;
  /** The name of the button that closes the dialog, for screen readers. @defaultValue `Cancel` */
  cancel?: string;
  /** The empty choice of a field that must be filled in. @defaultValue `Choose …` */
  choose?: string;
  /** The empty choice of another field. @defaultValue `No choice` */
  noChoice?: string;
  /** A field is empty. @defaultValue `Please fill this in.` */
  missing?: string;
  /** Nothing is chosen. @defaultValue `Please choose one.` */
  missingChoice?: string;
  /** The browser cannot read what was typed. @defaultValue `Please complete this.` */
  incomplete?: string;
  /** Too few choices. @defaultValue `Please choose at least ${count}.` */
  tooFewChoices?: (count: number) => string;
  /** Too many choices. @defaultValue `Please choose at most ${count}.` */
  tooManyChoices?: (count: number) => string;
  /** No number. @defaultValue `Please enter a number.` */
  notANumber?: string;
  /** A number with a fraction. @defaultValue `Please enter a whole number.` */
  notAnInteger?: string;
  /** A number that is too small. @defaultValue `Please enter ${minimum} or more.` */
  tooSmall?: (minimum: number) => string;
  /** A number that is too large. @defaultValue `Please enter ${maximum} or less.` */
  tooLarge?: (maximum: number) => string;
  /** A text that is too short. @defaultValue `Please enter at least ${count} characters.` */
  tooShort?: (count: number) => string;
  /** A text that is too long. @defaultValue `Please enter at most ${count} characters: these are ${length}.` */
  tooLong?: (count: number, length: number) => string;
  /** A text of another format. @defaultValue `Please enter something like ${example}.` */
  wrongFormat?: (example: string) => string;
  /** A text that the schema's pattern does not allow. @defaultValue `Please enter it in the form that is asked for.` */
  wrongPattern?: string;
}
