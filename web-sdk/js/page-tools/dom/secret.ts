/**
 * Fields for passwords and other secrets, whose values are never shown. A field counts if it is one now or was one before,
 * or if its attributes, its names, its style, or a control beside it that shows and hides its value indicate it.
 */

import { read } from "../../dom/native.ts";
import { isEditingHost, isTextInput } from "./classify.ts";
import { flatClosest, flatElements, flatParent, is, isElement, isInPage } from "./flat-tree.ts";
import { labelsOf, referenced } from "./labels.ts";
import { attributeOf, hasAttribute, matches, rootNodeOf, textContentOf } from "./native.ts";
import { getStyle } from "./shown.ts";

/** Returns a text without accents and marks, in lower case. */
const fold = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Words that indicate a secret anywhere in a name: `userpassword`. */
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

/** Words for data about a secret that is not itself secret. */
const ABOUT_SECRET = / (url|uri|endpoint|length|limit|name|description|type|lifetime|expiry|policy)$/;

/** Words on a control that shows or hides a value. */
const SHOWS = new RegExp(
  fold(
    "show|hide|reveal|toggle|view|display|visib|mask|zeig|blende|affich|masqu|mostra|ocult|exibi|nascond|\\bver\\b|показ|скры|显示|顯示|隐藏|隱藏|表示|표시|숨기|إظهار|إخفاء|दिखा|छिपा",
  ),
  "u",
);

const AUTOCOMPLETE = /(^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(\s|$)/i;

/** Controls that may show and hide the value of a field. */
const TOGGLES = "button, [role=button], [role=switch], [role=checkbox], input[type=checkbox], input[type=button]";

/** Maximum number of characters of a name that are checked: the rest explains the field. */
const MAX_NAME = 40;

/** Maximum number of elements in a common ancestor of a field and its control. */
const MAX_ELEMENTS_AROUND = 30;

/** Maximum number of recorded positions of fields in a document or element; the oldest are dropped. */
const MAX_PLACES = 1_000;

/** Fields that once contained a secret: a page that shows a password changes its field to one of text. */
const known = new WeakSet<Element>();

/** The positions of these fields: by their ancestor, and by their key there. A page may replace such a field by another. */
const places = new WeakMap<Node, Map<string, WeakRef<Element>>>();

/** Whether such a field has ever existed. Most pages have none, and nothing has to be searched. */
let isAny = false;

/** The results during the current look. */
let found: Map<Element, boolean> | undefined;

/** Runs a function during which fields do not change. */
export function withSecrets<Result>(run: () => Result): Result {
  found = new Map();
  try {
    return run();
  } finally {
    found = undefined;
  }
}

/** Returns whether an element is a field whose value is never shown. */
export function isSecret(element: Element): boolean {
  if (!isTyped(element)) return false;
  let isFound = found?.get(element);
  if (isFound === undefined) {
    isFound = (noteSecret(element) || textsOf(element).some(isSecretText) || hasToggle(element)) && !flatClosest(element, isPublic);
    found?.set(element, isFound);
  }
  return isFound;
}

/** Returns whether the app has marked an element as visible to AI clients. */
export const isPublic = (element: Element): boolean => hasAttribute(element, "data-mcp-public");

/** Returns the browser's validation message of a field. It may quote the value. */
export const validationMessageOf = (field: HTMLInputElement): string => (isSecret(field) ? "is not valid" : field.validationMessage);

/** Starts recording fields for secrets that the page may change before it is read. Returns a function that stops it. */
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

/**
 * Records an element that is certainly a field for a secret, and returns whether it is one. Also records the fields that a
 * control shows and hides.
 */
export function noteSecret(element: Element): boolean {
  if (hasAttribute(element, "aria-controls") && isToggle(element)) for (const field of referenced(element, "aria-controls")) if (isTyped(field)) note(field);
  if (!isTyped(element) || !(known.has(element) || isMasked(element) || hasReplaced(element))) return false;
  note(element);
  return true;
}

/** Returns whether text is typed into an element. */
const isTyped = (element: Element): element is HTMLInputElement => isTextInput(element) || is(element, "textarea") || (isElement(element) && isEditingHost(element));

/** Returns whether the browser masks the typed text, or the page declares it as a secret. */
function isMasked(field: HTMLInputElement): boolean {
  if (field.type === "password" || AUTOCOMPLETE.test(attributeOf(field, "autocomplete") ?? "")) return true;
  const style = getStyle(field);
  // Some fonts contain only dots.
  return !/^(none)?$/.test(style.getPropertyValue("-webkit-text-security")) || /text-security/.test(style.fontFamily);
}

function note(field: Element): void {
  isAny = true;
  known.add(field);
  for (const [around, key] of placesOf(field)) {
    const inside = places.get(around) ?? new Map<string, WeakRef<Element>>();
    places.set(around, inside.set(key, new WeakRef(field)));
    // A page may give each rendered field a new name.
    if (inside.size > MAX_PLACES) inside.delete(inside.keys().next().value!);
  }
}

/** Returns whether a field is in the position of a removed field for a secret. */
function hasReplaced(field: Element): boolean {
  return isAny && placesOf(field).some(([around, key]) => {
    const former = places.get(around)?.get(key);
    const element = former?.deref();
    return former && (!element || !isInPage(element));
  });
}

/** Returns the keys of a field: its id, its form and name, and the element around it with its names. */
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

/** Returns the texts that name a control: its id and its name first. */
function textsOf(element: Element): string[] {
  const attributes = ["id", "name", "aria-label", "placeholder", "title"].map((name) => attributeOf(element, name));
  const labels = [...labelsOf(element), ...referenced(element, "aria-labelledby")].map(textContentOf);
  return [...attributes, ...labels].map(cut);
}

const cut = (text: string | null): string => text?.trim().replace(/\s+/g, " ").slice(0, MAX_NAME) ?? "";

/** Returns whether a name contains a word for a secret: in `newPassword2`, `new-password` and `NEW_PASSWORD`. */
function isSecretText(text: string): boolean {
  const words = fold(text.replace(/[\p{Ll}\d](?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu, "$& ")).replace(/[^\p{L}]+/gu, " ").trim();
  return SECRET.test(words) && !ABOUT_SECRET.test(words);
}

/** Returns whether a control beside a field shows and hides a secret: no other field may be in their common ancestor. */
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
