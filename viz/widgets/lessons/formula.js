// Formulas: renders a subset of TeX as MathML. `@name` stands for a number of the step.

const MATH = 'http://www.w3.org/1998/Math/MathML';
const SIGNS = {
  cdot: '·', times: '×', sum: '∑', ldots: '…', infty: '∞', leftarrow: '←', to: '→', in: '∈', mu: 'μ', sigma: 'σ', theta: 'θ', gamma: 'γ',
  beta: 'β', pi: 'π', omega: 'ω', epsilon: 'ε', Delta: 'Δ', approx: '≈', neq: '≠', le: '≤', max: 'max', min: 'min', sin: 'sin', cos: 'cos', ln: 'ln', exp: 'exp', log: 'log',
}; // biome-ignore format: a table
const NAMES = new Set(['max', 'min', 'sin', 'cos', 'ln', 'exp', 'log']);
const LETTERS = new Set(['mu', 'sigma', 'theta', 'gamma', 'beta', 'pi', 'omega', 'epsilon', 'Delta']);
const TOKEN = /\\text\{([^}]*)\}|\\([a-zA-Z]+|[,{}])|@(\w+)|(\d[\d.,]*)|([A-Za-z]+)|([_^{}])|\s+|(.)/gu;

/** Create a MathML element with its children. */
function element(name, ...children) {
  const node = document.createElementNS(MATH, name);
  node.append(...children);
  return node;
}

/** Render a formula as an element. `numbers`: the values of `@name`, as text. */
export function formula(source, numbers = {}) {
  const tokens = parseFormula(source, numbers);
  const math = element('math', parseRow(tokens, false));
  math.setAttribute('displaystyle', 'true'); // fractions in full size
  if (tokens.length) throw new Error(`${source} has an unmatched }`);
  return math;
}

/** The lines of a formula: TeX separates them by two backslashes. */
export const formulaLines = (source) => source.split(/\s*\\\\\s*/).filter(Boolean);

/** Split a formula into items `[kind, text]`. */
export function parseFormula(source, numbers = {}) {
  const items = [];
  for (const [, text, command, name, number, letters, grouping, sign] of source.matchAll(TOKEN)) {
    if (text !== undefined) items.push(['text', text]);
    else if (command !== undefined) items.push(['command', command]);
    else if (name !== undefined) items.push(...tokensFor(name, numbers));
    else if (number !== undefined) items.push(['number', number]);
    else if (letters !== undefined) items.push(...[...letters].map((letter) => ['letter', letter]));
    else if (grouping !== undefined) items.push(['grouping', grouping]);
    else if (sign !== undefined) items.push(['sign', sign]);
  }
  return items;
}

/** Items of a named value; a value is a number or a formula. */
function tokensFor(name, numbers) {
  const value = numbers[name];
  if (value === undefined) return [['unknown', '?']];
  return value.includes('\\') ? parseFormula(value) : [['number', value]];
}

/** Parse a row of items, up to the end or the closing brace. */
function parseRow(tokens, isGroup) {
  const mathRow = element('mrow');
  while (tokens.length) {
    if (isGroup && isClosing(tokens[0])) {
      tokens.shift();
      return mathRow;
    }
    if (isClosing(tokens[0])) break;
    mathRow.append(parseScripts(tokens));
  }
  return mathRow;
}

const isClosing = ([kind, text]) => kind === 'grouping' && text === '}';

/** Parse an item with its subscript and superscript. */
function parseScripts(tokens) {
  const base = parsePart(tokens);
  let subscript = null;
  let superscript = null;
  while (tokens.length && tokens[0][0] === 'grouping' && '_^'.includes(tokens[0][1])) {
    if (tokens.shift()[1] === '_') subscript = parsePart(tokens);
    else superscript = parsePart(tokens);
  }
  const hasLimits = base.textContent === '∑' || base.textContent === 'max';
  if (subscript && superscript) return element(hasLimits ? 'munderover' : 'msubsup', base, subscript, superscript);
  if (subscript) return element(hasLimits ? 'munder' : 'msub', base, subscript);
  return superscript ? element('msup', base, superscript) : base;
}

function parsePart(tokens) {
  const [kind, text] = tokens.shift() ?? ['sign', ''];
  if (kind === 'grouping') return text === '{' ? parseRow(tokens, true) : element('mo', text);
  if (kind === 'number' || kind === 'unknown') return element('mn', text);
  if (kind === 'letter') return makeLetter(text);
  if (kind === 'text') return element('mtext', text);
  if (kind === 'sign') return element('mo', text === '-' ? '−' : text);
  return parseCommand(text, tokens);
}

function parseCommand(name, tokens) {
  if (name === 'frac') return element('mfrac', parsePart(tokens), parsePart(tokens));
  if (name === 'sqrt') return element('msqrt', parsePart(tokens));
  if (name === ',' || name === 'quad') return makeSpace(name === ',' ? '0.17em' : '1em');
  if (name === 'left' || name === 'right') return element('mo', tokens.shift()[1]);
  if (name === '{' || name === '}') return element('mo', name);
  if (!(name in SIGNS)) throw new Error(`unknown command \\${name} in a formula`);
  if (LETTERS.has(name)) return makeLetter(SIGNS[name]);
  // Chromium sets no space between a function's name and its argument.
  if (name === 'ln' || name === 'log') return element('mrow', element('mi', SIGNS[name]), makeSpace('0.17em'));
  return element(NAMES.has(name) ? 'mi' : 'mo', SIGNS[name]);
}

/**
 * Creates a variable. Without `mathvariant`, browsers replace its letter by a mathematical one, for which many systems lack
 * a font; CSS makes it italic.
 */
function makeLetter(text) {
  const node = element('mi', text);
  node.setAttribute('mathvariant', 'normal');
  return node;
}

function makeSpace(width) {
  const space = element('mspace');
  space.setAttribute('width', width);
  return space;
}
