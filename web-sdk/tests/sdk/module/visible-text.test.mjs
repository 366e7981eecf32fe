// Texts with invisible characters, in the form shown to people.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { INVISIBLE } from "../../../js/text/invisible.ts";
import { visibleText } from "../../../js/text/visible-text.ts";

const CASES = new URL("../../../../bridge/protocol/golden/invisible-characters.json", import.meta.url);

test("texts are shown in the same form as by the crate bridge-protocol", async () => {
  for (const { text, visible, removed } of JSON.parse(await readFile(CASES, "utf8"))) {
    assert.equal(visibleText(text), visible);
    assert.equal(text.replace(/[\u2028\u2029]/g, "\n").replace(INVISIBLE, ""), removed);
    assert.equal(visibleText(visible), visible);
  }
});

test("exactly the invisible characters are escaped", () => {
  const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2800\ufffc\ufffe\uffff\u{16fe4}\u{1d159}]/u;
  // Line breaks and tabs, and signs around numbers, which have a visible form.
  const drawn = /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}\t\n]/u;
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code);
    const isShown = visibleText(`a${character}a`) === `a\\u{${code.toString(16)}}a`;
    assert.equal(isShown, unseen.test(character) && !drawn.test(character), code.toString(16));
  }
});

test("the shown text has no sequence of invisible characters, except between emoji", () => {
  const pool = [..."☀👩💻1\u20e3ab ابهक\u094dর\n\u200b\u200c\u200c\u200d\u200d\ufe0e\ufe0f\ufe0f\u202e\u3164\u2800\u{e0041}\u{e0100}"];
  let state = 1;
  const random = (count) => (state = (state * 48_271) % 0x7fffffff) % count;
  for (let run = 0; run < 20_000; run++) {
    const text = Array.from({ length: random(12) }, () => pool[random(pool.length)]).join("");
    const shown = visibleText(text);
    assert.equal(visibleText(shown), shown);
    assert.doesNotMatch(shown, /[\u200b\u202e\u3164\u2800\u{e0041}\u{e0100}]|[\u200c\u200d\ufe0e\ufe0f]{2}(?<!\ufe0f\u200d)/u, JSON.stringify(text));
  }
});

test("a Windows line break is one, and lone surrogates stay", () => {
  assert.equal(visibleText("a\r\nb\rc"), "a\nb\\u{d}c");
  assert.equal(visibleText("\ud83d\u200b\ude00"), "\ud83d\\u{200b}\ude00");
});
