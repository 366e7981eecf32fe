/** MCP's restricted schema of an elicitation. */

/** The schema of one field. Its keywords depend on its type. */
export interface FieldSchema {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  enum?: string[];
  enumNames?: string[];
  oneOf?: FormChoice[];
  anyOf?: FormChoice[];
  items?: FieldSchema;
}

/** A choice with a name for people. */
export interface FormChoice {
  const: string;
  title?: string;
}

/** The schema of the form. */
export interface FormSchema {
  properties?: { [name: string]: FieldSchema };
  required?: string[];
}
