export function assert(truth, what = "not true") {
  if (!truth) throw new Error(what);
}

/** Compares JSON values. */
export function equal(actual, expected, what = "") {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${what} is ${left}, not ${right}`);
}

export async function rejects(promise, expected) {
  const error = await promise.then(
    () => undefined,
    (error) => error,
  );
  assert(error, "it was fulfilled");
  for (const [field, value] of Object.entries(expected)) {
    const fits = value instanceof RegExp ? value.test(error[field]) : error[field] === value;
    assert(fits, `${field} is ${error[field]}, not ${value}`);
  }
}
