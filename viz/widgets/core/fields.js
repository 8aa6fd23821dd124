// The server's table of request and selection fields, with their kinds, limits and defaults.

import { tables } from './boot.js';

const toKey = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
/** @typedef {{ name: string, key: string, kind: string, default: any, [property: string]: any }} Field one row of the table */

/** @type {(part: string) => Field[]} */
const readFields = (part) => tables.fields[part].map((row) => /** @type {Field} */ ({ ...row, key: toKey(row.name) }));

/** Rows: name, kind, limits or choices, default; `key` is the field's name in the state. */
export const FIELDS = { request: readFields('request'), selection: readFields('selection'), judged: readFields('judged') };
export const CLASSIFIER_TAB = 'sentiment'; // the permalink of this tab has the `judged` fields

/** Names of the options that can be set on the page. */
export const listPageOptions = () => FIELDS.request.filter(({ option, on_page: isShown }) => option && isShown).map(({ name }) => name);

/** Property names of fields with two values, by kind. The state stores these fields as objects, the server as lists. */
const PAIRS = { head: ['layer', 'head'], rival: ['place', 'id'] };

/** Converts a selection to the server's format: snake-case names, heads and rivals as pairs. */
export function selectionValues(selection) {
  const toValue = ({ kind, key }) => (PAIRS[kind] && selection[key] ? PAIRS[kind].map((name) => selection[key][name]) : selection[key]);
  return Object.fromEntries(FIELDS.selection.map((row) => [row.name, toValue(row)]));
}

/** Converts the server's format to a selection. */
export function selectionFrom(values) {
  const fromPair = (kind, pair) => Object.fromEntries(PAIRS[kind].map((name, index) => [name, pair[index]]));
  const fromValue = ({ kind, name }) => (PAIRS[kind] && values[name] ? fromPair(kind, values[name]) : values[name]);
  return Object.fromEntries(FIELDS.selection.filter(({ name }) => name in values).map((row) => [row.key, fromValue(row)]));
}
