// Two users of one host: one attacks it, the other measures.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { caller, makeFolder, makeToken, openSession, startHost, textOf } from "./host.mjs";

/** A p99 and a slowest call below these are noise of the machine, in milliseconds. */
const UNNOTICED_MS = 50;
const UNNOTICED_SLOWEST_MS = 500;
/** How many calls the other user makes alone, before the attack and after it, and at least during the attack. */
const CALLS = 100;
export const SECRET = "correct horse battery staple";

/** Starts a host with two users or more, each with a session. The page of the app has a field `name`. */
export async function startTwo(t, app, { args = [], attackers: count = 1 } = {}) {
  const config = await makeFolder(t);
  await writeFile(join(config, "lowdefy.yaml"), JSON.stringify(app));
  const tokens = Array.from({ length: count + 1 }, makeToken);
  const host = await startHost(t, { config, token: tokens, args, env: { LOWDEFY_SECRET_PASSPHRASE: SECRET } });
  const [other, ...attackers] = await Promise.all(tokens.map((token) => openSession({ call: caller(token) })));
  return { host, attacker: attackers[0], attackers, other };
}

export const setState = (values) => ({ type: "setState", values });

const p99 = (times) => times.sort((one, two) => one - two)[Math.ceil(times.length * 0.99) - 1];

async function timed(work) {
  const started = performance.now();
  const answer = await work();
  assert.match(textOf(answer), /^1 setValue name ok/, JSON.stringify(answer));
  return performance.now() - started;
}

/** How often an attack is run until the other user does not notice it. */
const ATTEMPTS = 3;

/**
 * Runs an attack while the other user works, and returns what the attacker was answered. Other work on the machine makes calls
 * slower and never faster: an attack that seems to be noticed is run again, with the users of `renew` if it can be run only once.
 */
export async function unnoticed(t, users, name, attack, { renew = async () => users } = {}) {
  let { other } = users;
  const work = () => timed(() => other.interact({ type: "setValue", ref: "name", value: "A" }));
  const workAlone = async (times) => {
    for (let index = 0; index < CALLS; index += 1) times.push(await work());
  };
  for (let attempt = 1; ; attempt += 1) {
    const [alone, during] = [[], []];
    await workAlone(alone);
    let isOver = false;
    const attacked = attack().finally(() => (isOver = true));
    while (!isOver || during.length < CALLS) during.push(await work());
    await workAlone(alone);
    const [usual, underAttack] = [p99(alone), p99(during)];
    const [slowestAlone, slowest] = [alone, during].map((times) => Math.max(...times));
    const figures = `p99 of the other user ${usual.toFixed(1)} ms alone, ${underAttack.toFixed(1)} ms during the attack; slowest of ${during.length} calls ${slowest.toFixed(0)} ms`;
    t.diagnostic(`${name}: ${figures}`);
    const isUnnoticed = underAttack <= Math.max(3 * usual, UNNOTICED_MS) && slowest <= Math.max(3 * slowestAlone, UNNOTICED_SLOWEST_MS);
    assert.ok(isUnnoticed || attempt < ATTEMPTS, figures);
    const answer = await attacked;
    if (isUnnoticed) return answer;
    ({ other } = await renew());
  }
}
