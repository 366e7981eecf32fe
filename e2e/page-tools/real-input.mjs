// Runs the rows of `libraries/rows.json` with a mouse and keys that the browser cannot tell from a user's,
// so that the expected states can be reached and the roles and names are those that Chromium computes:
// `node real-input.mjs FOLDER [--one-page] [NAME]`, after `node build.mjs FOLDER`. NAME selects rows whose
// name contains it. Prints one line of JSON for each row; the exit code is 1 if one failed.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";

import { launch } from "./chromium.mjs";
import { serve } from "./serve.mjs";

/** How long a widget has to show what an action opens or changes, in milliseconds. */
const TIMEOUT = 3000;
/** The pause of a user between two actions, in milliseconds. Libraries start transitions in between. */
const PAUSE = 100;

const isText = ({ tag, type }) => tag === "TEXTAREA" || (tag === "INPUT" && !(type in SPECIAL_INPUTS)) || tag === "EDITABLE";

const SPECIAL_INPUTS = {
  checkbox: setChecked,
  radio: setChecked,
  range: setRange,
  color: (locator, value) => locator.fill(value), // The picker is a window of the system.
  file: (locator, { name, mimeType, text }) => locator.setInputFiles({ name, mimeType, buffer: Buffer.from(text) }),
  date: typeDate,
  time: (locator, value) => typeInSegments(locator, timeKeys(value)),
  "datetime-local": typeMoment,
  month: typeMonth,
  week: typeWeek,
};

/** Returns the locator of `{ role?, name?, text? }` in the document or one of its frames. */
async function locate(page, find) {
  const deadline = Date.now() + TIMEOUT;
  for (;;) {
    for (const frame of page.frames()) {
      const found = locatorIn(frame, find).filter({ visible: true });
      const count = await found.count();
      if (count > 1) {
        throw new Error(`${count} elements match ${JSON.stringify(find)}`);
      }
      if (count === 1) {
        return found;
      }
    }
    if (Date.now() > deadline) {
      throw new Error(`nothing matches ${JSON.stringify(find)}`);
    }
    await page.waitForTimeout(50);
  }
}

function locatorIn(frame, { role, name, text }) {
  if (role) {
    return frame.getByRole(role, { name });
  }
  return name ? frame.getByLabel(name) : frame.getByText(text, { exact: true });
}

const EFFECTS = {
  async setValue(page, { find, value }) {
    const locator = await locate(page, find);
    const control = await locator.evaluate((element) => ({
      tag: element.isContentEditable ? "EDITABLE" : element.tagName,
      type: element.type,
      multiple: element.multiple,
    }));
    if (control.tag === "SELECT") {
      return control.multiple ? selectSeveral(page, locator, value) : selectOne(page, locator, value);
    }
    if (isText(control)) {
      return typeText(page, locator, value);
    }
    return SPECIAL_INPUTS[control.type](locator, value, page);
  },
  async triggerEvent(page, { find, event }) {
    const locator = await locate(page, find);
    await (event === "onDoubleClick" ? locator.dblclick() : locator.click());
  },
  async pressKey(page, { find, key }) {
    if (find) {
      await (await locate(page, find)).focus();
    }
    await page.keyboard.press(key === " " ? "Space" : key);
  },
  async drag(page, { find, to }) {
    const dragged = await locate(page, find);
    const target = await locate(page, to.find);
    await dragged.scrollIntoViewIfNeeded();
    await target.scrollIntoViewIfNeeded();
    const [start, end] = [await dragged.boundingBox(), await target.boundingBox()];
    await page.mouse.move(start.x + start.width / 2, start.y + start.height / 2);
    await page.mouse.down();
    // Below the centre of the target, so that what is dragged goes behind it.
    await page.mouse.move(end.x + end.width / 2, end.y + end.height * 0.7, { steps: 8 });
    await page.waitForTimeout(PAUSE);
    await page.mouse.up();
  },
};

async function typeText(page, locator, value) {
  await locator.click();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.press("Delete");
  await page.keyboard.type(value);
}

async function setChecked(locator, value) {
  if ((await locator.isChecked()) !== value) {
    await locator.click();
  }
}

async function setRange(locator, value, page) {
  await locator.focus();
  await page.keyboard.press("Home");
  while (Number(await locator.inputValue()) < Number(value)) {
    await page.keyboard.press("ArrowRight");
  }
}

/** Selects an option by the arrow keys. */
async function selectOne(page, locator, value) {
  const index = await locator.evaluate((select, value) => {
    return [...select.options].findIndex((option) => option.value === value || option.label === value);
  }, value);
  await locator.focus();
  await page.keyboard.press("Home");
  for (let pressed = 0; pressed < index; pressed += 1) {
    await page.keyboard.press("ArrowDown");
  }
}

async function selectSeveral(page, locator, values) {
  for (const [index, label] of values.entries()) {
    const modifiers = index === 0 ? [] : ["ControlOrMeta"];
    await locator.getByRole("option", { name: label }).click({ modifiers });
  }
}

async function typeInSegments(locator, keys) {
  await locator.focus();
  for (const text of keys) {
    if (text === "ArrowRight") {
      await locator.press(text);
    } else {
      await locator.pressSequentially(text);
    }
  }
}

function timeKeys(value) {
  const [hours, minutes] = value.split(":").map(Number);
  const digits = (number) => String(number).padStart(2, "0");
  return [digits(hours % 12 || 12), digits(minutes), hours < 12 ? "AM" : "PM"];
}

function dateKeys(value) {
  const [year, month, day] = value.split("-");
  return [month, day, year];
}

async function typeDate(locator, value) {
  await typeInSegments(locator, dateKeys(value));
}

async function typeMoment(locator, value) {
  const [date, time] = value.split("T");
  await typeInSegments(locator, [...dateKeys(date), "ArrowRight", ...timeKeys(time)]);
}

async function typeMonth(locator, value) {
  const [year, month] = value.split("-");
  const name = new Date(Number(year), Number(month) - 1).toLocaleString("en-US", { month: "long" });
  await typeInSegments(locator, [name.slice(0, 3), "ArrowRight", year]);
}

async function typeWeek(locator, value) {
  const [year, week] = value.split("-W");
  await typeInSegments(locator, [week, "ArrowRight", year]);
}

async function runRow(page, { actions, key, expected }) {
  try {
    for (const action of actions) {
      await EFFECTS[action.type](page, action);
      await page.waitForTimeout(PAUSE);
    }
  } catch (error) {
    return { error: error.message.split("\n")[0] };
  }
  const deadline = Date.now() + TIMEOUT;
  for (;;) {
    const actual = await page.evaluate((key) => window.appState[key], key);
    if (isDeepStrictEqual(actual, expected)) {
      return { ok: true };
    }
    if (Date.now() > deadline) {
      return { error: "the app has another state", actual, expected };
    }
    await page.waitForTimeout(50);
  }
}

async function open(context, url) {
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT);
  await page.goto(url);
  await page.waitForFunction(() => "react-select.team" in window.appState);
  return page;
}

const options = process.argv.slice(3);
const onePage = options.includes("--one-page");
const part = options.find((option) => !option.startsWith("--")) ?? "";
const file = fileURLToPath(new URL("./libraries/rows.json", import.meta.url));
const rows = JSON.parse(readFileSync(file, "utf8")).filter(({ name }) => name.includes(part));
const server = await serve(process.argv[2]);
const browser = await launch();
const context = await browser.newContext({ locale: "en-US" });
let page;
let failed = 0;
for (const row of rows) {
  if (!page || !onePage) {
    await page?.close();
    page = await open(context, `${server.url}/${row.page}`);
  }
  const result = await runRow(page, row);
  failed += result.ok ? 0 : 1;
  console.log(JSON.stringify({ row: row.name, ...result }));
}
console.log(JSON.stringify({ rows: rows.length, failed }));
await browser.close();
server.close();
process.exitCode = failed > 0 ? 1 : 0;
