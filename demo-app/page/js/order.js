/**
 * An order as plain data: its price, and its errors.
 *
 * @typedef {{ issue: string, copies: string, cover: "plain" | "linen", gift: boolean, message: string, name: string,
 *             street: string, postcode: string, town: string, country: string, earliest: string,
 *             payment: "invoice" | "debit", iban: string }} Order
 */

export const ISSUES = [
  { id: "autumn", title: "Autumn issue", cents: 1400 },
  { id: "summer", title: "Summer issue", cents: 1200 },
  { id: "spring", title: "Spring issue", cents: 1200 },
  { id: "winter", title: "Winter issue, the last few", cents: 2100 },
];

export const COUNTRIES = ["Austria", "Belgium", "Denmark", "France", "Germany", "Italy", "Netherlands", "Poland", "Spain", "Switzerland"];

/** The discount of each voucher, in percent. */
const VOUCHERS = { LEAF10: 10, READER25: 25 };

const LINEN_CENTS = 400;
const GIFT_CENTS = 250;
const POSTAGE_CENTS = 390;
const MAX_COPIES = 50;

/** The discount of a voucher in percent, or undefined if it does not exist. @param {string} voucher */
export function percentOff(voucher) {
  const name = voucher.trim().toUpperCase();
  return Object.hasOwn(VOUCHERS, name) ? VOUCHERS[name] : undefined;
}

/**
 * The lines of the bill in cents, ending with the total.
 *
 * @param {Order} order
 * @param {number} percent the discount of the voucher
 */
export function sumOf({ issue, copies, cover, gift }, percent) {
  const count = copiesOf(copies) ?? 0;
  const { title, cents } = ISSUES.find(({ id }) => id === issue);
  const lines = [{ text: `${count} × ${title}`, cents: count * cents }];
  if (cover === "linen") lines.push({ text: "Linen covers", cents: count * LINEN_CENTS });
  if (gift) lines.push({ text: "Wrapped as a gift", cents: GIFT_CENTS });
  if (percent > 0) lines.push({ text: `Voucher, ${percent} %`, cents: -Math.round((total(lines) * percent) / 100) });
  lines.push({ text: "Postage", cents: POSTAGE_CENTS });
  return [...lines, { text: "Total", cents: total(lines) }];
}

/**
 * The error of each field.
 *
 * @param {Order} order
 * @param {string} today such as `2026-10-05`
 * @returns {Record<string, string>}
 */
export function problemsOf(order, today) {
  const problems = {};
  if (copiesOf(order.copies) === undefined) problems.copies = `Order 1 to ${MAX_COPIES} copies`;
  if (!order.name.trim()) problems.name = "Say who gets the copies";
  if (!order.street.trim()) problems.street = "Say the street and the number";
  if (!/^[0-9A-Za-z][0-9A-Za-z -]{2,9}$/.test(order.postcode.trim())) problems.postcode = "A postal code has 3 to 10 letters and digits";
  if (!order.town.trim()) problems.town = "Say the town";
  if (order.earliest && order.earliest < today) problems.earliest = "This day has passed";
  if (order.payment === "debit" && !/^[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}$/i.test(order.iban.replaceAll(" ", ""))) {
    problems.iban = "This is not an IBAN";
  }
  return problems;
}

export const priceText = (cents) => `${(cents / 100).toFixed(2)} €`;

function copiesOf(text) {
  const count = Number(text);
  return Number.isInteger(count) && count >= 1 && count <= MAX_COPIES ? count : undefined;
}

const total = (lines) => lines.reduce((sum, { cents }) => sum + cents, 0);
