/**
 * Fields of passwords and other secrets, whose values are never shown: what is one now or was one before, and what looks like
 * one by its attributes, its names, its style, or a control beside it that shows and hides it.
 */

import { read } from "../../dom/native.ts";
import { isEditingHost, isTextInput } from "./classify.ts";
import { flatClosest, flatElements, flatParent, is, isElement, isInPage } from "./flat-tree.ts";
import { labelsOf, referenced } from "./labels.ts";
import { attributeOf, hasAttribute, matches, rootNodeOf, textContentOf } from "./native.ts";
import { getStyle } from "./shown.ts";

/** Returns a text without accents and marks, in lower case. */
const fold = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Words for secrets, wherever they are: `userpassword`. */
const SECRET = new RegExp(
  fold(
    "pass ?(wor[dt]|wd|phrase|code)|passkey|^(user |login |log |new |old |db |smtp |ftp |admin |root )?pass$|ps?wd|kennwort|contrasena|^clave( secreta)?$|(nueva|tu|su) clave$|" +
      "mot ?de ?passe|wachtwoord|\\bhas[lł]o(?!c|g)|sifre|" +
      "parola(?! chiave)|mat ?khau|kata ?sandi|парол|密码|密碼|口令|验证码|驗證碼|パスワード|暗証番号|認証コード|비밀번호|인증번호|كلمة المرور|كلمة السر|رمز عبور|पासवर्ड|পাসওয়ার্ড|" +
      "\\b(senha|mdp|pw|t?otp|csc)\\b|\\botp|otp\\b|cvv|cvc|[cx]srf|secret(?!a|i|ory)|(api|access|private|encryption|signing) ?key|" +
      "token$|token here|(api|access|auth|bearer|refresh|session|bot|personal) ?token(?!s|i)|jeton d acces|" +
      "api ?(schlussel|sleutel|ключ|キー|密钥|密鑰|키)|(cle|clave|chiave|chave|klucz|ключ) (de |d )?api|密钥|密鑰|私钥|私鑰|(geheim|privat)er schlussel|" +
      "(cle|clave|chiave|chave) (priv|secr|segr)|klucz pryw|(приватн|секретн|закрыт)ыи ключ|" +
      "(security|verification|authentication|one time|backup|recovery) ?code|(seed|recovery) phrase|(sicherheits|bestatigungs)code|" +
      "cod(e|igo|ice) d[ei] (secur|segur(id|anc)|sicur|verif)|kod weryfik|код подтвер",
  ),
  "u",
);

/** What is said about a secret, and is none. */
const ABOUT_SECRET = / (url|uri|endpoint|length|limit|name|description|type|lifetime|expiry|policy)$/;

/** Words of a control that shows or hides something. */
const SHOWS = new RegExp(
  fold(
    "show|hide|reveal|toggle|view|display|visib|mask|zeig|blende|affich|masqu|mostra|ocult|exibi|nascond|\\bver\\b|показ|скры|显示|顯示|隐藏|隱藏|表示|표시|숨기|إظهار|إخفاء|दिखा|छिपा",
  ),
  "u",
);

const AUTOCOMPLETE = /(^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(\s|$)/i;

/** Controls that may show and hide what a field has. */
const TOGGLES = "button, [role=button], [role=switch], [role=checkbox], input[type=checkbox], input[type=button]";

/** The characters of a name that are looked at: what follows explains the field. */
const MAX_NAME = 40;

/** A control belongs to a field if it is with it in an element that is not larger. */
const MAX_ELEMENTS_AROUND = 30;

/** So many places of fields are noted in a document or element; the oldest are dropped. */
const MAX_PLACES = 1_000;

/** Fields that were of a secret once: a page that shows a password makes its field one of text. */
const known = new WeakSet<Element>();

/** Where these fields are: by what they are in, and by what they are known there. A page may also put another field in their place. */
const places = new WeakMap<Node, Map<string, WeakRef<Element>>>();

/** Whether there was ever such a field: on most pages there is none, and nothing has to be looked for. */
let isAny = false;

/** What was found in the look that runs. */
let found: Map<Element, boolean> | undefined;

/** Runs a function within which fields do not change. */
export function withSecrets<Result>(run: () => Result): Result {
  found = new Map();
  try {
    return run();
  } finally {
    found = undefined;
  }
}

/** Whether an element is a field whose value is never shown. */
export function isSecret(element: Element): boolean {
  if (!isTyped(element)) return false;
  let isFound = found?.get(element);
  if (isFound === undefined) {
    isFound = (noteSecret(element) || textsOf(element).some(isSecretText) || hasToggle(element)) && !flatClosest(element, isPublic);
    found?.set(element, isFound);
  }
  return isFound;
}

/** Whether the app shows AI clients an element, whatever it looks like. */
export const isPublic = (element: Element): boolean => hasAttribute(element, "data-mcp-public");

/** Returns why the browser finds a field invalid. That may quote its value. */
export const validationMessageOf = (field: HTMLInputElement): string => (isSecret(field) ? "is not valid" : field.validationMessage);

/** Begins to note fields of secrets that the page may change before it is looked at. Returns a function that ends that. */
export function watchSecrets(): () => void {
  const end = new AbortController();
  const observer = new MutationObserver((records) => {
    for (const { target, oldValue } of records) if (/^password$/i.test(oldValue ?? "")) note(target as Element);
  });
  observer.observe(document, { subtree: true, attributeFilter: ["type"], attributeOldValue: true });
  const noteTarget = (event: Event) => {
    const target = event.composedPath()[0] as Element;
    if (isTyped(target)) noteSecret(target);
  };
  for (const type of ["focusin", "input"]) addEventListener(type, noteTarget, { capture: true, signal: end.signal });
  return () => {
    end.abort();
    observer.disconnect();
  };
}

/** Notes an element that is a field of a secret for certain, and returns whether it is one. Also notes the fields that a control shows and hides. */
export function noteSecret(element: Element): boolean {
  if (hasAttribute(element, "aria-controls") && isToggle(element)) for (const field of referenced(element, "aria-controls")) if (isTyped(field)) note(field);
  if (!isTyped(element) || !(known.has(element) || isMasked(element) || hasReplaced(element))) return false;
  note(element);
  return true;
}

/** Whether a text is typed into an element. */
const isTyped = (element: Element): element is HTMLInputElement => isTextInput(element) || is(element, "textarea") || (isElement(element) && isEditingHost(element));

/** Whether the browser masks what is typed, or the page says that it is a secret. */
function isMasked(field: HTMLInputElement): boolean {
  if (field.type === "password" || AUTOCOMPLETE.test(attributeOf(field, "autocomplete") ?? "")) return true;
  const style = getStyle(field);
  // There are fonts that have nothing but dots.
  return !/^(none)?$/.test(style.getPropertyValue("-webkit-text-security")) || /text-security/.test(style.fontFamily);
}

function note(field: Element): void {
  isAny = true;
  known.add(field);
  for (const [around, key] of placesOf(field)) {
    const inside = places.get(around) ?? new Map<string, WeakRef<Element>>();
    places.set(around, inside.set(key, new WeakRef(field)));
    // A page may name each field anew that it renders.
    if (inside.size > MAX_PLACES) inside.delete(inside.keys().next().value!);
  }
}

/** Whether a field is where one of a secret was that is gone. */
function hasReplaced(field: Element): boolean {
  return isAny && placesOf(field).some(([around, key]) => {
    const former = places.get(around)?.get(key);
    const element = former?.deref();
    return former && (!element || !isInPage(element));
  });
}

/** Returns what a field is known by: its id, its form and name, and the element around it with its names. */
function placesOf(field: Element): [around: Node, key: string][] {
  const root = rootNodeOf(field);
  const [id = "", name = "", ...others] = textsOf(field);
  const form = read(field as HTMLInputElement, "form");
  const places: [Node, string][] = [
    [root, id && `#${id}`],
    [root, name && `${form ? attributeOf(form, "id") || attributeOf(form, "name") : ""}/${name}`],
    [flatParent(field) ?? root, [name, ...others].join("\n")],
  ];
  return places.filter(([, key]) => key);
}

/** Returns the texts by which a control is named: its id and its name first. */
function textsOf(element: Element): string[] {
  const attributes = ["id", "name", "aria-label", "placeholder", "title"].map((name) => attributeOf(element, name));
  const labels = [...labelsOf(element), ...referenced(element, "aria-labelledby")].map(textContentOf);
  return [...attributes, ...labels].map(cut);
}

const cut = (text: string | null): string => text?.trim().replace(/\s+/g, " ").slice(0, MAX_NAME) ?? "";

/** Whether a name has a word for a secret: in `newPassword2`, `new-password` and `NEW_PASSWORD`. */
function isSecretText(text: string): boolean {
  const words = fold(text.replace(/[\p{Ll}\d](?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu, "$& ")).replace(/[^\p{L}]+/gu, " ").trim();
  return SECRET.test(words) && !ABOUT_SECRET.test(words);
}

/** Whether a control beside a field shows and hides a secret: there is no other field around both. */
function hasToggle(field: Element): boolean {
  for (let around = flatParent(field); around; around = flatParent(around)) {
    let elements = 0;
    let isBeside = false;
    for (const element of flatElements(around)) {
      if (++elements > MAX_ELEMENTS_AROUND || (element !== field && isTyped(element))) return false;
      isBeside ||= matches(element, TOGGLES) && isToggle(element);
    }
    if (isBeside) return true;
  }
  return false;
}

const isToggle = (control: Element): boolean => [...textsOf(control), cut(attributeOf(control, "value")), cut(textContentOf(control))].some((text) => isSecretText(text) && SHOWS.test(fold(text)));
