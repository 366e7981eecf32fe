/** Types that are derived from schemas and URI templates. */

/**
 * A JSON Schema object. The bridge validates with JSON Schema 2020-12 and upgrades older drafts.
 *
 * The types of the input are derived from a schema that is written inline: `as const` is not needed.
 */
export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * A schema of a library that implements Standard Schema (https://standardschema.dev), such as Zod, Valibot and ArkType. To
 * be published, it must also convert itself to JSON Schema (Standard JSON Schema).
 */
export interface StandardSchema<Input = unknown, Output = unknown> {
  /** The interface of Standard Schema. */
  readonly "~standard": {
    /** The version of the interface. */
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    /** Validates a value, and returns it or the issues. */
    readonly validate: (value: unknown) => unknown;
    /** The types, which exist only for the compiler. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type IsAny<T> = 0 extends 1 & T ? true : false;

/** Shows an object type with its fields instead of the types that it is composed of. */
type Flatten<T> = T extends object ? { [Key in keyof T]: T[Key] } : T;

/**
 * The type of the values that a JSON Schema describes, as far as TypeScript can express it: `type`, `properties` and
 * `required`, `additionalProperties` without `properties`, `items`, `prefixItems`, `enum`, `const`, `anyOf`, `oneOf`,
 * `allOf`, `nullable`, and `$ref` to `#`, `#/$defs/…` and `#/definitions/…`. Everything else is `unknown`.
 *
 * Properties that the schema does not name are left out, even if `additionalProperties` allows them, because reading one is
 * probably a typing error.
 */
export type FromJsonSchema<Schema> = Resolve<Schema, Schema>;

type Resolve<S, Root> = S extends true
  ? unknown
  : S extends false
    ? never
    : S extends { readonly nullable: true }
      ? Combine<S, Root> | null
      : Combine<S, Root>;

/** References and constants are used alone; unions and intersections narrow the type of the keywords beside them. */
type Combine<S, Root> = S extends { readonly $ref: infer Ref }
  ? Resolve<Target<Ref, Root>, Root>
  : S extends { readonly const: infer Value }
    ? Value
    : S extends { readonly enum: readonly (infer Value)[] }
      ? Value
      : S extends { readonly anyOf: readonly (infer Branch)[] }
        ? Narrow<S, Root, EachBranch<Branch, Root>>
        : S extends { readonly oneOf: readonly (infer Branch)[] }
          ? Narrow<S, Root, EachBranch<Branch, Root>>
          : S extends { readonly allOf: infer Branches }
            ? Narrow<S, Root, AllOf<Branches, Root>>
            : ByType<S, Root>;

type EachBranch<Branch, Root> = Branch extends unknown ? Resolve<Branch, Root> : never;

type AllOf<Branches, Root> = Branches extends readonly [infer First, ...infer Rest]
  ? Resolve<First, Root> & AllOf<Rest, Root>
  : unknown;

type Narrow<S, Root, Branches> = S extends { readonly properties: unknown } ? Flatten<ObjectType<S, Root> & Branches> : Flatten<Branches>;

type Target<Ref, Root> = Ref extends "#"
  ? Root
  : Ref extends `#/${infer Section extends "$defs" | "definitions"}/${infer Name}`
    ? Root extends { readonly [section in Section]: { readonly [name in Name]: infer Definition } }
      ? Definition
      : true
    : true;

type ByType<S, Root> = S extends { readonly type: readonly (infer Type)[] }
  ? OfType<Type, S, Root>
  : S extends { readonly type: infer Type }
    ? OfType<Type, S, Root>
    : S extends { readonly properties: unknown }
      ? ObjectType<S, Root>
      : S extends { readonly items: unknown } | { readonly prefixItems: unknown }
        ? ArrayType<S, Root>
        : unknown;

type OfType<Type, S, Root> = Type extends "string"
  ? string
  : Type extends "number" | "integer"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? ArrayType<S, Root>
          : Type extends "object"
            ? ObjectType<S, Root>
            : unknown;

type RequiredName<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type ObjectType<S, Root> = S extends { readonly properties: infer Properties }
  ? Flatten<
      {
        -readonly [Name in keyof Properties as Name extends RequiredName<S> ? Name : never]: Resolve<Properties[Name], Root>;
      } & {
        -readonly [Name in keyof Properties as Name extends RequiredName<S> ? never : Name]?: Resolve<Properties[Name], Root>;
      }
    >
  : S extends { readonly additionalProperties: infer Values }
    ? { [name: string]: Resolve<Values, Root> }
    : { [name: string]: unknown };

type ArrayType<S, Root> = S extends { readonly prefixItems: infer Items }
  ? { -readonly [Index in keyof Items]: Resolve<Items[Index], Root> }
  : S extends { readonly items: infer Item }
    ? Resolve<Item, Root>[]
    : unknown[];

/**
 * The input of a tool's handler: the type that `inputSchema` describes, after the defaults and transforms of a schema
 * library. Without a schema, it is an object with unknown fields; with a schema that TypeScript knows only as an object, it
 * is `any`.
 */
export type InferInput<Schema> = Infer<Schema, "output">;

/**
 * The schemas that a tool may have: JSON Schema, also as the interfaces of a library such as TypeBox, or Standard Schema.
 */
export type ToolSchema = object | JsonSchema | StandardSchema;

/**
 * The result of a tool's handler: the type that `outputSchema` describes, before the defaults and transforms of a schema
 * library.
 */
export type InferOutput<Schema> = Infer<Schema, "input">;

type Infer<Schema, Side extends "input" | "output"> =
  IsAny<Schema> extends true
    ? any
    : Schema extends { readonly "~standard": { readonly types?: infer Types } }
      ? NonNullable<Types> extends { readonly [side in Side]: infer Type }
        ? Type
        : any
      : Schema extends object
        ? string extends keyof Schema
          ? any
          : FromJsonSchema<Schema>
        : { [name: string]: unknown };

/** The names of the variables of a URI template (RFC 6570). */
export type UriTemplateVariables<Template extends string> = string extends Template
  ? string
  : Template extends `${string}{${infer Expression}}${infer Rest}`
    ? VariableNames<WithoutOperator<Expression>> | UriTemplateVariables<Rest>
    : never;

type WithoutOperator<Expression extends string> = Expression extends `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer Names}`
  ? Names
  : Expression;

type VariableNames<Names extends string> = Names extends `${infer First},${infer Rest}`
  ? VariableName<First> | VariableNames<Rest>
  : VariableName<Names>;

type VariableName<Variable extends string> = Variable extends `${infer Name}*` | `${infer Name}:${number}` ? Name : Variable;

/** The message that a compiler shows for a value that JSON cannot express. */
export interface NotJson<Message extends string> {
  /** The problem, and the value to return instead. */
  readonly "has no JSON": Message;
}

/**
 * The type of a handler's return value if JSON can express it. Otherwise it contains a {@link NotJson} for the part that
 * JSON cannot express, so that the compiler names it.
 */
export type ToolValue<T> =
  IsAny<T> extends true
    ? T
    : unknown extends T
      ? T
      : T extends string | number | boolean | null | undefined | void
        ? T
        : T extends bigint
          ? NotJson<"a bigint has no JSON: return a number, or String(value)">
          : T extends symbol
            ? NotJson<"a symbol has no JSON">
            : T extends (...args: never) => unknown
              ? NotJson<"a function has no JSON: call it, and return its result">
              : T extends Blob | ArrayBuffer | ArrayBufferView | ImageData | ImageBitmap | HTMLCanvasElement | OffscreenCanvas
                ? T
                : T extends { toJSON(): unknown }
                  ? T
                  : T extends ReadonlyMap<unknown, unknown>
                    ? NotJson<"a Map has no JSON: return Object.fromEntries(map)">
                    : T extends ReadonlySet<unknown>
                      ? NotJson<"a Set has no JSON: return [...set]">
                      : T extends PromiseLike<unknown>
                        ? NotJson<"a promise has no JSON: await it">
                        : T extends RegExp | Error | WeakMap<WeakKey, unknown> | WeakSet<WeakKey>
                          ? NotJson<"this object has no JSON: return its fields">
                          : { [Key in keyof T]: ToolValue<T[Key]> };
