// An OpenID provider for the users of a bridge: npm install oidc-provider@9, with Node 22.
//
//   node oidc-provider.mjs add ada < password     adds a user, or changes the password
//   node oidc-provider.mjs token ada              prints a token of the user, to check the bridge
//   node oidc-provider.mjs                        serves http://127.0.0.1:3002, behind a proxy with TLS
//
// Its folder keeps the users, the keys, and in `state.sqlite` the logins, registered clients and refresh tokens. The
// package's own store in memory holds about 1,000 records, which is less than 200 users need.
import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, scryptSync, sign, timingSafeEqual } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";

const ISSUER = "https://id.example.com"; // jwt_issuer; the keys are at /jwks (jwks_url)
const RESOURCE = "https://bridge.example.com/mcp"; // jwt_audience
const APP = "https://app.example.com"; // allowed_origins
const FOLDER = process.env.STATE_DIRECTORY ?? "/var/lib/mcp-web-id";
const SCOPES = "page tools:read tools:call query";
const LIFETIME = 600; // seconds: a token cannot be revoked, so it is short, and clients renew it

const hash = (password, salt) => scryptSync(password, salt, 32).toString("hex");

/** The last line of a user counts. */
function findUser(name) {
  const lines = readFileSync(`${FOLDER}/users`, "utf8").split("\n");
  return lines.map((line) => line.split(":")).findLast(([user, , stored]) => stored && user === name);
}

/** Takes the place of a user who does not exist, so that the answer takes as long. */
const UNKNOWN = ["", "-", hash(randomBytes(16).toString("hex"), "-")];

function isPasswordOf(name, password) {
  const [, salt, stored] = findUser(name) ?? UNKNOWN;
  return timingSafeEqual(Buffer.from(hash(password, salt)), Buffer.from(stored));
}

// The user of the unit must own the files, so a command of root does not make them.
if (process.argv[2] && !existsSync(`${FOLDER}/keys.json`)) throw new Error(`start the provider first: ${FOLDER} has no keys`);

if (process.argv[2] === "add") {
  const [name, salt] = [process.argv[3], randomBytes(16).toString("hex")];
  if (!/^[\w.@-]+$/.test(name)) throw new Error("a name has letters, digits and _.@-");
  const password = (await text(process.stdin)).trim();
  appendFileSync(`${FOLDER}/users`, `${name}:${salt}:${hash(password, salt)}\n`, { mode: 0o600 });
  process.exit();
}

/** The keys that sign tokens and cookies, which are made at the first start, as is the file of users. */
function loadKeys() {
  appendFileSync(`${FOLDER}/users`, "", { mode: 0o600 });
  if (!existsSync(`${FOLDER}/keys.json`)) {
    const jwk = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
    const kid = createHash("sha256").update(jwk.n).digest("base64url");
    const keys = { jwks: { keys: [{ ...jwk, kid, use: "sig", alg: "RS256" }] }, cookies: [randomBytes(32).toString("hex")] };
    writeFileSync(`${FOLDER}/keys.json`, JSON.stringify(keys), { mode: 0o600 });
  }
  return JSON.parse(readFileSync(`${FOLDER}/keys.json`, "utf8"));
}

const seconds = () => Math.floor(Date.now() / 1000);

if (process.argv[2] === "token") {
  const [name, key] = [process.argv[3], loadKeys().jwks.keys[0]];
  if (!findUser(name)) throw new Error(`no user is called ${name}`);
  const claims = { iss: ISSUER, aud: RESOURCE, sub: name, client_id: "check", scope: SCOPES, iat: seconds(), exp: seconds() + LIFETIME };
  const parts = [{ alg: "RS256", typ: "at+jwt", kid: key.kid }, claims];
  const unsigned = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const signature = sign("sha256", Buffer.from(unsigned), createPrivateKey({ key, format: "jwk" }));
  console.log(`${unsigned}.${signature.toString("base64url")}`);
  process.exit();
}

// Only here, because the commands above need neither.
const { default: Provider, errors } = await import("oidc-provider");
const { DatabaseSync } = await import("node:sqlite");
const { jwks, cookies } = loadKeys();
process.umask(0o077);
const database = new DatabaseSync(`${FOLDER}/state.sqlite`);
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS records (kind, id, uid, grant_id, ends, payload, PRIMARY KEY (kind, id)) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS uids ON records (uid);
  CREATE INDEX IF NOT EXISTS grants ON records (grant_id);
  CREATE INDEX IF NOT EXISTS ends ON records (ends);
`);
const DAY = 24 * 3600;
const sql = {
  put: database.prepare("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)"),
  get: database.prepare("SELECT payload FROM records WHERE kind = ? AND id = ? AND ends > ?"),
  getByUid: database.prepare("SELECT payload FROM records WHERE kind = ? AND uid = ? AND ends > ?"),
  consume: database.prepare("UPDATE records SET payload = json_set(payload, '$.consumed', ?) WHERE kind = ? AND id = ?"),
  remove: database.prepare("DELETE FROM records WHERE kind = ? AND id = ?"),
  revoke: database.prepare("DELETE FROM records WHERE kind = ? AND grant_id = ?"),
  removeEnded: database.prepare("DELETE FROM records WHERE ends <= ?"),
  extendClient: database.prepare("UPDATE records SET ends = ? WHERE kind = 'Client' AND id = ?"),
};

/** Stores what the provider remembers. */
class Adapter {
  constructor(kind) {
    this.kind = kind;
  }

  async upsert(id, payload, lifetime) {
    // Anybody may register a client: it stays for a day, and after each consent of a user for 90 days.
    const ends = seconds() + (this.kind === "Client" ? DAY : lifetime);
    sql.put.run(this.kind, id, payload.uid ?? null, payload.grantId ?? null, ends, JSON.stringify(payload));
    if (this.kind === "Grant") sql.extendClient.run(seconds() + 90 * DAY, payload.clientId);
  }

  async find(id) {
    return this.#parse(sql.get.get(this.kind, id, seconds()));
  }

  async findByUid(uid) {
    return this.#parse(sql.getByUid.get(this.kind, uid, seconds()));
  }

  async consume(id) {
    sql.consume.run(seconds(), this.kind, id);
  }

  async destroy(id) {
    sql.remove.run(this.kind, id);
  }

  async revokeByGrantId(grantId) {
    sql.revoke.run(this.kind, grantId);
  }

  #parse(row) {
    return row && JSON.parse(row.payload);
  }
}

setInterval(() => sql.removeEnded.run(seconds()), 600_000).unref();

const provider = new Provider(ISSUER, {
  adapter: Adapter,
  jwks,
  cookies: { keys: cookies },
  scopes: ["openid", "offline_access", ...SCOPES.split(" ")],
  // The app is a page: a public client with PKCE. AI clients register themselves.
  clients: [
    {
      client_id: "app",
      token_endpoint_auth_method: "none",
      redirect_uris: [`${APP}/`],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    },
  ],
  clientBasedCORS: (_, origin) => origin === APP,
  findAccount: (_, name) => (findUser(name) ? { accountId: name, claims: () => ({ sub: name }) } : undefined),
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => RESOURCE,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => {
        if (resource !== RESOURCE) throw new errors.InvalidTarget();
        return { audience: RESOURCE, scope: SCOPES, accessTokenTTL: LIFETIME, accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } };
      },
    },
  },
});
provider.proxy = true; // X-Forwarded-Proto

const escape = (value) => value.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
const LOGIN = '<p><input name="name" placeholder="Name" required> <input name="password" type="password" placeholder="Password" required>';

provider.use(async (ctx, next) => {
  if (!ctx.path.startsWith("/interaction/")) return next();
  const { prompt, params, session, grantId } = await provider.interactionDetails(ctx.req, ctx.res);
  const client = await provider.Client.find(params.client_id);
  const show = (status, message) => {
    ctx.status = status;
    ctx.type = "html";
    const wish = prompt.name === "login" ? LOGIN : `<p>${escape(client.clientName ?? client.clientId)} wants: ${escape(params.scope ?? SCOPES)}`;
    ctx.body = `<!doctype html><title>Log in</title><form method="post"><p>${message}${wish}<p><button>Continue</button></form>`;
  };
  if (ctx.method !== "POST") return show(200, "");
  let result;
  if (prompt.name === "login") {
    const body = new URLSearchParams(await text(ctx.req));
    const [name, password] = [body.get("name") ?? "", body.get("password") ?? ""];
    if (!isPasswordOf(name, password)) return show(401, "The name or the password is wrong.");
    result = { login: { accountId: name } };
  } else {
    const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = prompt.details;
    const known = grantId && (await provider.Grant.find(grantId));
    const grant = known || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
    if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
    for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) grant.addResourceScope(resource, scopes.join(" "));
    result = { consent: { grantId: await grant.save() } };
  }
  ctx.respond = false;
  await provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: prompt.name !== "login" });
});

provider.listen(3002, "127.0.0.1", () => console.log(`${ISSUER} at http://127.0.0.1:3002`));
