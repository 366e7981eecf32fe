/** Passwords and other secrets, which are hidden from the first look on, and pages that the app hides completely. */

import { assert, equal } from "./assert.js";
import { DomDriver } from "./page-tools/dom/driver.ts";
import { isSecret } from "./page-tools/dom/secret.ts";
import { nodesOf, withPage } from "./page-fixture.js";

const NEVER = new AbortController().signal;

const stateOf = async (page) => (await page.driver.state()).state;

/** Everything that page tools show of a page. */
const shown = async (page) => `${page.lines().join("\n")}${JSON.stringify([await page.tree({ everyText: true }), await stateOf(page)])}`;

/** Asserts that no text of page tools contains a secret value. */
async function assertHidden(page, what) {
  const text = await shown(page);
  assert(!text.includes("hunter2"), `${what}: ${text}`);
}

/** Runs a test for each piece of HTML, whose secrets have the value `hunter2`. */
const each = (cases, before) => async () => {
  for (const html of cases) {
    await withPage(html, async (page) => {
      await before?.(page);
      await assertHidden(page, html);
    })();
  }
};

/** Lets observers run. */
const nextTask = () => new Promise((resolve) => setTimeout(resolve)); // sleep: one turn, no time

const SECRET_NAMES = [
  "password", "userPassword", "new-password", "NEW_PASSWORD", "password2", "passwd", "pwd", "txtPwd", "user_pwd", "pass", "user_pass", "passphrase", "passcode", "passCode",
  "otp", "otp-1", "otpCode", "smsOTP", "totp", "cvv", "cvv2", "cardCvc", "csc", "secret", "clientSecret", "client_secret", "apiKey", "api-key", "APIKey", "accessToken", "access_token",
  "authToken", "_token", "csrf", "csrfmiddlewaretoken", "authenticity_token", "xsrf-token", "__RequestVerificationToken", "oneTimeCode", "securityCode", "seedPhrase",
  "Passwort", "Kennwort", "contraseña", "contrasena", "senha", "mot de passe", "motDePasse", "Пароль", "密码", "密碼", "パスワード", "暗証番号", "비밀번호", "كلمة المرور", "पासवर्ड", "পাসওয়ার্ড",
  "API token (optional)", "Access token (required)", "Personal access token for GitHub", "Paste your token here", "Bearer token", "jeton d'accès", "passkey", "db_pass", "Encryption key",
  "API-Schlüssel", "API-sleutel", "clé d'API", "clé secrète", "clave de API", "clave privada", "nueva clave", "chiave API", "chave privada", "klucz API", "API キー", "API密钥", "私钥", "API 키", "ключ API", "секретный ключ",
  "Bestätigungscode", "code de vérification", "código de verificación", "código de seguridad", "código de segurança", "codice di verifica", "kod weryfikacyjny", "код подтверждения",
  "şifre", "hasło", "wachtwoord", "mật khẩu", "kata sandi",
];

const OTHER_NAMES = [
  "pincode", "passport", "passenger", "passengerName", "compass", "tokenizer", "secretary", "Secretary", "Secrétaire", "bypass", "boarding pass", "maxTokens", "tokenCount", "footprint", "hotpot",
  "accessTokenUrl", "api-key-name", "postcode", "zip code", "code", "discount code", "user", "email", "search", "keyboard", "parola chiave", "palabra clave", "código de seguro", "haslogo", "haslocation", "secretory", "access token lifetime", "token endpoint", "token type", "API key description", "has_logo", "token symbol",
  "ski pass number", "seasonPass", "clave del producto", "chave Pix", "code cadeau", "numéro de sécurité sociale", "Passnummer", "Schlüsselwort", "parameter", "серия паспорта", "证件号码", "comment", "class", "passion", "description",
];

const FIELD = `<input id="t" name="t" aria-label="A" value="hunter2">`;

export default {
  "fields whose names suggest a secret are hidden at the first look": async () => {
    const fields = (names) => names.map((name) => ["name", "id", "aria-label", "placeholder"].map((attribute) => `<input ${attribute}="${name}" value="hunter2">`).join("")).join("");
    await withPage(fields(SECRET_NAMES), async (page) => {
      equal([...page.root.children].filter((field) => !isSecret(field)).map(({ outerHTML }) => outerHTML), []);
      await assertHidden(page, "names");
    })();
    await withPage(fields(OTHER_NAMES), (page) => equal([...page.root.children].filter(isSecret).map(({ outerHTML }) => outerHTML), []))();
  },
  "fields are hidden by their labels": each([
    `<label>Password <input value="hunter2"></label>`,
    `<label for="x">API key</label><textarea id="x">hunter2</textarea>`,
    `<b id="l">Access token</b><div id="x" contenteditable role="textbox" aria-labelledby="l">hunter2</div>`,
    `<h2 contenteditable id="client-secret">hunter2</h2>`,
    `<label>Security code <input type="tel" value="hunter2"></label>`,
    `<label>\n  <b>*</b>\n                                             <span>Password</span> <input value="hunter2"></label>`,
  ]),
  "fields are hidden by their attributes and their style": each([
    `<input autocomplete="section-a current-password" value="hunter2">`, `<textarea autocomplete="current-password">hunter2</textarea>`,
    `<textarea autocomplete="NEW-PASSWORD" aria-label="A">hunter2</textarea>`,
    `<input autocomplete="billing cc-number" value="hunter2">`, `<input autocomplete="cc-csc webauthn" value="hunter2">`, `<input autocomplete="one-time-code" value="hunter2">`,
    `<input style="-webkit-text-security: disc" value="hunter2">`, `<div style="-webkit-text-security: square"><textarea>hunter2</textarea></div>`, `<input style="font-family: text-security-disc" value="hunter2">`,
  ]),
  "fields are hidden by a control beside them that shows and hides a secret": each([
    `<div>${FIELD}<button>Show password</button></div>`,
    `<div>${FIELD}<button aria-label="Hide passcode"><svg></svg></button></div>`,
    `<div><span>${FIELD}</span><label><input type="checkbox"> Show password</label></div>`,
    `<div>${FIELD}<span role="button" id="togglePassword"></span></div>`, `<div>${FIELD}<input type="button" value="Show API key"></div>`,
    `<div>${FIELD}<button title="Passwort anzeigen"></button></div><div>${FIELD}<button>Mostrar contraseña</button></div><div>${FIELD}<button>Показать пароль</button></div>`,
    `<div>${FIELD}<button>パスワードを表示</button></div><div>${FIELD}<button>显示密码</button></div><div>${FIELD}<button>Afficher le mot de passe</button></div>`,
    `${FIELD}<input aria-label="B"><p><button aria-controls="t">Show password</button></p>`,
  ]),
  "a control of another field, or for another purpose, hides nothing": withPage(
    `<form><input name="email" value="ada"><div><input type="password" value="x"><button>Show password</button></div></form>
     <form><input id="mail" aria-label="Mail" value="ada"><button>Forgot password?</button><button>Reset password</button></form>
     <input id="about" aria-label="About" value="ada"><button aria-controls="about">Show more</button>`,
    async (page) => equal([...page.root.querySelectorAll("[value=ada]")].filter(isSecret), []),
  ),
  "a control in a shadow root belongs to its own field": withPage("<div><x-a></x-a><x-b></x-b></div>", (page) => {
    const [mail, secret] = ["x-a", "x-b"].map((name) => page.$(name));
    mail.attachShadow({ mode: "open" }).innerHTML = `<input aria-label="Mail" value="ada">`;
    secret.attachShadow({ mode: "open" }).innerHTML = `<input aria-label="A" value="hunter2"><slot></slot>`;
    secret.innerHTML = "<button>Show password</button>";
    equal([mail, secret].map(({ shadowRoot }) => isSecret(shadowRoot.querySelector("input"))), [false, true]);
  }),
  "a secret is in no text that names it, and is compared without being shown": withPage(
    `<textarea id="t" autocomplete="current-password" aria-label="A">hunter2</textarea><button aria-labelledby="t">x</button><a href="/x" aria-describedby="t">Link</a>
     <div id="e" contenteditable role="textbox" aria-label="API key">hunter2</div><button aria-labelledby="e">y</button><fieldset><legend>L <input name="otp" value="hunter2"></legend></fieldset>
     <input id="m" autocomplete="one-time-code" aria-label="M"><a href="/y"><label>In <textarea name="secret">hunter2</textarea></label></a>`,
    async (page) => {
      await assertHidden(page);
      equal(nodesOf(page.tree().root).filter(({ role, value }) => role === "textbox" && value).map(({ value }) => value), Array(4).fill("(hidden)"));
      page.$("#t").addEventListener("input", ({ target }) => (target.value = "hunter2"));
      for (const [selector, matches] of [["#t", false], ["#e", true]]) {
        const { readBack, warnings } = await page.set(selector, "new");
        equal([readBack, warnings], [{ expected: "(hidden)", actual: "(hidden)", matches }, undefined], selector);
      }
      page.$("#m").addEventListener("input", ({ target }) => (target.value = "123 456"));
      const { readBack, warnings } = await page.set("#m", "123456");
      equal([readBack.matches, warnings], [true, undefined]);
    },
  ),
  "a password that was shown before the first look stays hidden": each([`<input type="password" aria-label="A" value="hunter2">`, `<b><input type="password" name="a" value="hunter2"></b>`], async (page) => {
    page.$("input").type = "text";
    await nextTask();
  }),
  "a password that the page replaced before the first look stays hidden": each(
    [
      [`<form id="f"><div><input type="password" name="a"></div></form>`, `<div><p><input name="a" value="hunter2"></p></div>`],
      [`<form id="f"><input type="password" id="a"></form>`, `<p><input id="a" value="hunter2"></p>`],
      [`<form id="f"><input type="password" id=":r1:" aria-label="Key"></form>`, `<input id=":r2:" aria-label="Key" value="hunter2">`],
      [`<form id="f"><input type="password"><input name="b"></form>`, `<textarea>hunter2</textarea><input name="b">`],
    ].map(([html, next]) => `${html}<template>${next}</template>`),
    (page) => {
      page.$("[type=password]").dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
      page.$("#f").replaceChildren(page.$("template").content.cloneNode(true));
    },
  ),
  "a different field in the place of a password is shown": withPage(`<form id="f"><input type="password" id="a" aria-label="Key"><input type="password" name="n"></form>`, (page) => {
    page.lines();
    page.$("#f").innerHTML = `<input id="city" aria-label="City" value="Berlin"><input name="street" value="Mall">`;
    equal(page.lines(), ['- textbox "City": "Berlin"', '- textbox: "Mall"']);
  }),
  "a password in a shadow root that the page shows after typing stays hidden": withPage("<x-a></x-a>", async (page) => {
    const shadow = page.$("x-a").attachShadow({ mode: "open" });
    shadow.innerHTML = `<input type="password" aria-label="A" value="hunter2">`;
    const [field] = shadow.children;
    field.focus();
    field.dispatchEvent(new FocusEvent("focusin", { bubbles: true, composed: true }));
    field.type = "text";
    await assertHidden(page);
  }),
  "the app can show a field that looks like a secret": withPage(
    `<input id="a" name="otp" data-mcp-public value="123"><div data-mcp-public><textarea id="b" name="apiKey">456</textarea></div><input id="c" name="otp" value="789">`,
    async (page) => equal(await stateOf(page), { otp: ["123", "(hidden)"], apiKey: "456" }),
  ),
  "the browser's validation message of a secret is not shown": withPage(
    `<form><input type="email" name="otp" aria-label="A" value="hunter2"><input type="email" aria-label="B" value="ada"><p data-mcp-private><input type="email" value="hunter2"></p></form>`,
    async (page) => {
      const outcome = await page.act({ type: "triggerEvent", event: "onSubmit" }, "input");
      assert(!JSON.stringify(outcome).includes("hunter2"), JSON.stringify(outcome));
      const [{ content }] = outcome.messages;
      assert(content.startsWith('textbox "A": is not valid; textbox "B": ') && content.includes("ada"), content);
    },
  ),
  "fields that are invisible to a person are in the state only if the app lists them": withPage(
    `<input type="hidden" name="h1" value="x"><input type="hidden" name="h2" value="listed" data-mcp-public><input hidden name="h3" value="x"><div style="display:none"><textarea name="h4">x</textarea></div>
     <input style="visibility:hidden" name="h5" value="x"><div hidden><label>L <input name="h6" value="x"></label></div><input type="checkbox" hidden name="h7">
     <input hidden id="s1" name="s1" value="a"><label for="s1">Labelled</label>
     <span style="position:relative;display:inline-block;width:80px;height:20px"><input aria-hidden="true" name="s2" value="b" style="position:absolute;opacity:0;pointer-events:none"></span>
     <div><select aria-hidden="true" name="s3" style="position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0,0,0,0)"><option>c</select>Drawn</div>
     <div aria-hidden="true"><input name="s4" value="d"></div><label><input type="checkbox" name="s5" style="display:none" checked> Box</label>`,
    async (page) => equal(await stateOf(page), { h2: "listed", s1: "a", s2: "b", s3: "c", s4: "d", s5: true }),
  ),
  "private content is not used as a name": async () => {
    const marks = ["data-mcp-private", "data-mcp-person"];
    const sources = {
      "svg > title": (mark) => `<svg width="9" height="9" role="img"><title ${mark}>hunter2</title></svg>`,
      "svg > title in a button": (mark) => `<button><svg width="9" height="9"><title ${mark}>hunter2</title></svg></button>`,
      "svg > title in a link": (mark) => `<a href="/x"><svg width="9" height="9"><title ${mark}>hunter2</title></svg></a>`,
      "svg > title by aria-labelledby": (mark) => `<svg id="s" width="9" height="9"><title id="x" ${mark}>hunter2</title></svg><button aria-labelledby="x">o</button><button aria-labelledby="s">o</button><a href="/x" aria-describedby="s">o</a>`,
      "g > title": (mark) => `<svg width="9" height="9"><g role="img"><title ${mark}>hunter2</title><rect width="9" height="9"/></g><a href="/x"><title ${mark}>hunter2</title><text>o</text></a></svg>`,
      "svg > desc": (mark) => `<button aria-describedby="x">o<svg width="9" height="9"><desc id="x" ${mark}>hunter2</desc></svg></button>`,
      "alt": (mark) => `<button><img ${mark} alt="hunter2" src="data:,"></button><a href="/x"><img ${mark} alt="hunter2" src="data:,">o</a><h2><img ${mark} alt="hunter2" src="data:,"></h2>`,
      "title": (mark) => `<button><i ${mark} title="hunter2"></i></button><h2><abbr ${mark} title="hunter2">hunter2</abbr> o</h2>`,
      "aria-label": (mark) => `<button><i ${mark} role="img" aria-label="hunter2"></i>o</button>`,
      "legend": (mark) => `<fieldset><legend ${mark}>hunter2</legend><input></fieldset><fieldset><legend><b ${mark}>hunter2</b> o</legend></fieldset>`,
      "caption": (mark) => `<table><caption ${mark}>hunter2</caption><tr><td>1<td>2</table>`,
      "figcaption": (mark) => `<figure><figcaption ${mark}>hunter2</figcaption>o</figure><figure><figcaption><b ${mark}>hunter2</b></figcaption>o</figure>`,
      "optgroup": (mark) => `<label>o <select><optgroup ${mark} label="hunter2"><option>hunter2</optgroup></select></label>`,
      "option in a name": (mark) => `<button>o <select><option ${mark} selected label="hunter2">hunter2</select></button>`,
      "summary": (mark) => `<details open><summary ${mark}>hunter2</summary>o</details><details><summary><b ${mark}>hunter2</b> o</summary></details>`,
      "label": (mark) => `<label for="x" ${mark}>hunter2</label><input id="x"><label for="m"><b ${mark}>hunter2</b></label><meter id="m" value="0.5"></meter>`,
      "output": (mark) => `<label for="x" ${mark}>hunter2</label><output id="x">o</output>`,
      "area": (mark) => `<img usemap="#m" ${mark} src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" width="99" height="99" alt="hunter2"><map name="m"><area href="#x" coords="0,0,9,9" alt="hunter2"></map>`,
      "area itself": (mark) => `<img usemap="#n" src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" width="99" height="99" alt="o"><map name="n"><area ${mark} href="#x" coords="0,0,9,9" alt="hunter2"></map>`,
      "aria-describedby": (mark) => `<p id="x" ${mark}>hunter2</p><input aria-describedby="x"><input aria-invalid="true" aria-errormessage="x">`,
      "a label, where aria-label is empty": (mark) =>
        `<label for="x" ${mark}>hunter2</label><input id="x" aria-label=""><label><b ${mark}>hunter2</b><input aria-label=" "></label><label for="s" ${mark}>hunter2</label><select id="s" aria-label=""></select>
         <label><b ${mark}>hunter2</b><progress value="1" aria-label=""></progress></label>`,
      "a label, where aria-labelledby has no text": (mark) => `<b id="e"></b><label for="x" ${mark}>hunter2</label><input id="x" aria-labelledby="e"><table aria-labelledby="e"><caption ${mark}>hunter2</caption><tr><td>o</table>`,
      "a title, where aria-label is empty": (mark) =>
        `<fieldset aria-label=""><legend ${mark}>hunter2</legend><input></fieldset><table aria-label=""><caption ${mark}>hunter2</caption><tr><td>o</table><figure aria-label=""><figcaption ${mark}>hunter2</figcaption>o</figure>
         <svg role="img" width="9" height="9" aria-label=""><title ${mark}>hunter2</title></svg>`,
      "a part of an option": (mark) => `<select aria-label="o"><option selected>o <b ${mark}>hunter2</b></option></select>`,
      "aria-owns": (mark) => `<button aria-owns="x">o</button><p ${mark}><b id="x">hunter2</b></p>`,
      "cell": (mark) => `<table><tr onclick="1"><th aria-sort="ascending"><b ${mark}>hunter2</b><td><b ${mark}>hunter2</b></table>`,
      "datalist": (mark) => `<label>o <input list="x" value="o"></label><datalist id="x"><option ${mark} value="hunter2"></datalist>`,
    };
    for (const [source, html] of Object.entries(sources)) {
      for (const mark of marks) {
        await withPage(html(mark), async (page) => {
          await assertHidden(page, `${source}, ${mark}`);
          for (const { ref } of nodesOf(page.tree().root)) if (ref) assert(!page.driver.inspect(ref, { type: "hover" }).label?.includes("hunter2"), `${source}, ${mark}: the label of ${ref}`);
          assert(!JSON.stringify(await page.driver.pages()).includes("hunter2"), `${source}, ${mark}: pages`);
        })();
      }
    }
    await withPage(sources["svg > title"](""), (page) => equal(page.lines(), ['- img "hunter2"']))();
  },
  "nothing is revealed of a page that the app hides completely": withPage("<input aria-label='Name' name='n' value='ada'><a href='/other'>Other</a>", async (page) => {
    let isShown = true;
    const called = [];
    const note = (name) => (...args) => void called.push([name, ...args]);
    const options = { root: () => (isShown ? page.root : null), navigate: note("navigate"), setState: note("setState"), state: note("state"), global: note("global"), pages: note("pages") };
    const driver = new DomDriver(options);
    const { title } = document;
    document.title = "Secret title";
    try {
      const ref = nodesOf(await driver.tree({ limit: 99 }).root).find(({ role }) => role === "textbox").ref;
      equal(driver.page().title, "Secret title");
      page.$("input").focus();
      isShown = false;
      equal([driver.page(), await driver.pages(), driver.focused(), called], [{}, [], undefined, []]);
      equal(await driver.state(), { state: null, global: null, requests: {} });
      equal((await driver.tree({ limit: 99 })).root.children ?? [], []);
      equal((await driver.tree({ limit: 99, within: ref })).root.role, "private");
      assert(!driver.place().includes("/"), driver.place());
      for (const action of [{ type: "navigate", pageId: "/other" }, { type: "setState", key: "a", value: 1 }, { type: "pressKey", key: "a" }, { type: "scroll", deltaY: 9 }]) {
        driver.beginAction(action);
        console.error(location.href);
        const error = await driver.apply(action, undefined, undefined, NEVER).catch((error) => error);
        equal([error.code, /shows nothing of this page/.test(error.message), driver.endAction()], ["Declined", true, {}], action.type);
      }
      const error = await driver.open("/other", undefined, NEVER).catch((error) => error);
      equal([error.code, called], ["Declined", []]);
      isShown = true;
      await driver.open("/other", undefined, NEVER).catch(() => {});
      equal([driver.page().title, driver.place()], ["Secret title", location.pathname + location.search + location.hash]);
    } finally {
      document.title = title;
      driver.dispose();
    }
  }),
  "a root that is not in the page shows nothing": withPage("<div id='r'>Text</div>", async (page) => {
    const driver = new DomDriver({ root: page.$("#r") });
    equal(typeof driver.page().title, "string");
    page.$("#r").remove();
    equal([driver.page(), await driver.pages()], [{}, []]);
    driver.dispose();
  }),
};
