// Values of an experiment's controls, as permalink text and as values.

/** @typedef {{ form: string, name: string, start: any, options?: string[], low?: number, high?: number, step?: number, max_presses?: number, max_selected?: number, max_length?: number, visible_if?: [string, string] | null }} Control */

const parseInteger = (text, low, high) =>
  /^\d{1,6}$/.test(text) && Number(text) >= low && Number(text) <= high ? Number(text) : undefined;

/** Parse the text of a permalink; undefined if it is invalid. */
const PARSERS = {
  choice: (text, { options }) => (options.includes(text) ? text : undefined),
  switch: (text) => ({ 0: false, 1: true })[text],
  slider: (text, { low, high }) => parseInteger(text, low, high),
  button: (text, { max_presses }) => parseInteger(text, 0, max_presses),
  places: (text, { max_selected }) => placesOf(text, max_selected),
  text: (text, { max_length }) => (text.length <= max_length ? text : undefined),
};
const FORMATTERS = { switch: (value) => String(Number(value)), places: (value) => value.join('_') };

function placesOf(text, most) {
  if (!text) return [];
  const places = text.split('_').map((each) => parseInteger(each, 0, 999));
  return places.includes(undefined) || places.length > most ? undefined : places;
}

/** All control values of an experiment. `set`: the changed ones, as text by name. */
export function valuesOf(controls, set) {
  return Object.fromEntries(
    controls.map((control) => {
      const text = set?.[control.name];
      const read = text === undefined ? undefined : PARSERS[control.form](text, control);
      return [control.name, read === undefined ? control.start : read];
    }),
  );
}

/** A value as text; empty for the default. */
export function textOf(control, value) {
  if (JSON.stringify(value) === JSON.stringify(control.start)) return undefined;
  return (FORMATTERS[control.form] ?? String)(value);
}

/** A part of the address, in which points and dashes part. */
export const escapeLinkPart = (text) => encodeURIComponent(text).replaceAll('.', '%2E').replaceAll('-', '%2D');

export function unescapeLinkPart(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
