// Where our files lie, and the tables that everything needs before it can draw.

// A page that was saved as a file carries its tables with it.
const carried = globalThis.headlightFiles;

export const asset = (name) => new URL(`../${name}`, import.meta.url).href;

export async function fetchJson(name) {
  if (carried) return carried[name];
  const answer = await fetch(asset(name));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer.json();
}

let plotly = null;

/** Plotly, fetched once, from the server that serves the page. */
export function loadPlotly() {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  plotly ??= new Promise((done, failed) => {
    const script = document.createElement('script');
    script.src = asset('plotly.js');
    script.onload = () => done(window.Plotly);
    script.onerror = () => failed(new Error('plotly.js'));
    document.head.append(script);
  });
  return plotly;
}

/** Ask the server for something small. What it complains of is thrown, with the phrase that says so. */
export async function call(ask, values) {
  const said = await ask(JSON.stringify(values));
  const answer = said === undefined ? { what: 'error', word: 'unreachable' } : JSON.parse(said);
  if (answer?.what === 'error') throw Object.assign(new Error(answer.word), { fault: answer });
  return answer;
}
