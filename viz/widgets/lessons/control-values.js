// Values of an experiment's controls: parses them from the permalink and formats them.

/** @typedef {{ form: string, name: string, start: any, options?: string[], low?: number, high?: number, step?: number, max_presses?: number, max_selected?: number, max_length?: number, visible_if?: [string, string] | null }} Control */

const parseInteger = (text, low, high) =>
  /^\d{1,6}$/.test(text) && Number(text) >= low && Number(text) <= high ? Number(text) : undefined;

/** Parsers of permalink texts by form of control; undefined for invalid texts. */
const PARSERS = {
  choice: (text, { options }) => (options.includes(text) ? text : undefined),
  switch: (text) => ({ 0: false, 1: true })[text],
  slider: (text, { low, high, step = 1 }) => ((Number(text) - low) % step ? undefined : parseInteger(text, low, high)),
  button: (text, { max_presses }) => parseInteger(text, 0, max_presses),
  places: (text, { max_selected }) => parseIndices(text, max_selected),
  text: (text, { max_length }) => (text.length <= max_length ? text : undefined),
};
const FORMATTERS = { switch: (value) => String(Number(value)), places: (value) => value.join('_') };

function parseIndices(text, limit) {
  if (!text) return [];
  const indices = text.split('_').map((index) => parseInteger(index, 0, 999));
  return indices.includes(undefined) || indices.length > limit ? undefined : indices;
}

/** All control values of an experiment. `set`: the permalink texts of the changed ones, by name. */
export function resolveValues(controls, set) {
  return Object.fromEntries(
    controls.map((control) => {
      const text = set?.[control.name];
      const value = text === undefined ? undefined : PARSERS[control.form](text, control);
      return [control.name, value === undefined ? control.start : value];
    }),
  );
}

/** Format a value for the permalink; undefined for the default. */
export function formatValue(control, value) {
  if (JSON.stringify(value) === JSON.stringify(control.start)) return undefined;
  return (FORMATTERS[control.form] ?? String)(value);
}

/** Escape a part of the permalink, in which full stops and dashes are separators. */
export const escapeLinkPart = (text) => encodeURIComponent(text).replaceAll('.', '%2E').replaceAll('-', '%2D');

export function unescapeLinkPart(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
