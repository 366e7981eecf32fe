/**
 * Reads documents and elements by their prototypes. The elements of a document are properties of it by their names, and the
 * fields of a form are properties of the form: they hide what the document or the form has from its prototype, such as
 * `title`, `defaultView` or `parentNode`. So plain HTML would decide what is read.
 *
 * Windows need none of this: their own properties, which are all that a browser defines for them, and what they inherit go
 * before the elements that they have by their names. Only what a browser does not define may be an element: whether it is a
 * function, or an own property, is asked before it is used.
 *
 * Nothing is read when this module is loaded: a server that renders the app has no prototypes.
 */

/** The names of an object's methods. */
type MethodName<Owner> = { [Name in keyof Owner]-?: NonNullable<Owner[Name]> extends (...args: never[]) => unknown ? Name : never }[keyof Owner];

/** A method of an object; that of the last overload. */
type Method<Owner, Name extends keyof Owner> = Extract<NonNullable<Owner[Name]>, (...args: never[]) => unknown>;

/** Returns a property as the prototypes of an object have it, in whatever window it was made; `undefined` if they have none. */
export const read = <Owner extends object, Name extends keyof Owner>(owner: Owner, name: Name): Owner[Name] =>
  Reflect.get(Object.getPrototypeOf(owner), name, owner);

/** Sets a property by the setter of the prototypes of an object. */
export const write = <Owner extends object, Name extends keyof Owner>(owner: Owner, name: Name, value: Owner[Name]): boolean =>
  Reflect.set(Object.getPrototypeOf(owner), name, value, owner);

/** Calls a method as the prototypes of an object have it. */
export const invoke = <Owner extends object, Name extends MethodName<Owner>>(owner: Owner, name: Name, ...args: Parameters<Method<Owner, Name>>): ReturnType<Method<Owner, Name>> =>
  Reflect.apply(read(owner, name) as (...args: unknown[]) => ReturnType<Method<Owner, Name>>, owner, args);
