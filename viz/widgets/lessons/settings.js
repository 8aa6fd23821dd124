// Values of an experiment's controls, as permalink text and as values.

/** @typedef {{ form: string, name: string, start: any, options?: string[], low?: number, high?: number, step?: number, most?: number, longest?: number, when?: [string, string] | null }} Control */

const whole = (text, low, high) => (/^\d{1,6}$/.test(text) && Number(text) >= low && Number(text) <= high ? Number(text) : undefined);

/** Parse the text of a permalink; undefined if it is invalid. */
const READ = {
  choice: (text, { options }) => (options.includes(text) ? text : undefined),
  switch: (text) => ({ 0: false, 1: true })[text],
  slider: (text, { low, high }) => whole(text, low, high),
  button: (text, { most }) => whole(text, 0, most),
  places: (text, { most }) => placesOf(text, most),
  text: (text, { longest }) => (text.length <= longest ? text : undefined),
};
const WRITE = { switch: (value) => String(Number(value)), places: (value) => value.join('_') };

function placesOf(text, most) {
  if (!text) return [];
  const places = text.split('_').map((each) => whole(each, 0, 999));
  return places.includes(undefined) || places.length > most ? undefined : places;
}

/** All control values of an experiment. `set`: the changed ones, as text by name. */
export function valuesOf(controls, set) {
  return Object.fromEntries(
    controls.map((control) => {
      const text = set?.[control.name];
      const read = text === undefined ? undefined : READ[control.form](text, control);
      return [control.name, read === undefined ? control.start : read];
    }),
  );
}

/** A value as text; empty for the default. */
export function textOf(control, value) {
  if (JSON.stringify(value) === JSON.stringify(control.start)) return undefined;
  return (WRITE[control.form] ?? String)(value);
}

/** A part of the address, in which points and dashes part. */
export const sealed = (text) => encodeURIComponent(text).replaceAll('.', '%2E').replaceAll('-', '%2D');

export function unsealed(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
