/**
 * Reads documents and elements through their prototypes. Elements of a document become properties of it by their names, and
 * fields of a form become properties of the form. They hide inherited properties, such as `title`, `defaultView` or
 * `parentNode`, so that plain HTML could change the values that are read.
 *
 * Windows do not need this: their own and inherited properties take precedence over elements with the same names. Only a
 * property that the browser does not define may be an element, so check that it is a function, or an own property, before
 * its use.
 *
 * Nothing is read when this module is loaded, because a server that renders the app has no prototypes.
 */

/** The names of an object's methods. */
type MethodName<Owner> = { [Name in keyof Owner]-?: NonNullable<Owner[Name]> extends (...args: never[]) => unknown ? Name : never }[keyof Owner];

/** A method of an object; the last overload if there are several. */
type Method<Owner, Name extends keyof Owner> = Extract<NonNullable<Owner[Name]>, (...args: never[]) => unknown>;

/**
 * Returns a property as the prototypes of an object define it, whatever window the object is from; `undefined` if they do
 * not have it.
 */
export const read = <Owner extends object, Name extends keyof Owner>(owner: Owner, name: Name): Owner[Name] =>
  Reflect.get(Object.getPrototypeOf(owner), name, owner);

/** Sets a property with the setter of the object's prototypes. */
export const write = <Owner extends object, Name extends keyof Owner>(owner: Owner, name: Name, value: Owner[Name]): boolean =>
  Reflect.set(Object.getPrototypeOf(owner), name, value, owner);

/** Calls a method of the object's prototypes. */
export const invoke = <Owner extends object, Name extends MethodName<Owner>>(owner: Owner, name: Name, ...args: Parameters<Method<Owner, Name>>): ReturnType<Method<Owner, Name>> =>
  Reflect.apply(read(owner, name) as (...args: unknown[]) => ReturnType<Method<Owner, Name>>, owner, args);
