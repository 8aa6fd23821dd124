// Formulas: a small part of TeX, written as MathML, which browsers set themselves. `@name` stands for a number of the step.

const MATH = 'http://www.w3.org/1998/Math/MathML';
const SIGNS = {
  cdot: '·', times: '×', sum: '∑', ldots: '…', infty: '∞', leftarrow: '←', to: '→', in: '∈', mu: 'μ', sigma: 'σ', theta: 'θ', gamma: 'γ',
  beta: 'β', pi: 'π', epsilon: 'ε', Delta: 'Δ', approx: '≈', neq: '≠', le: '≤', max: 'max', min: 'min', sin: 'sin', cos: 'cos', ln: 'ln', exp: 'exp', log: 'log',
}; // biome-ignore format: a table
const NAMES = new Set(['max', 'min', 'sin', 'cos', 'ln', 'exp', 'log']);
const LETTERS = new Set(['mu', 'sigma', 'theta', 'gamma', 'beta', 'pi', 'epsilon', 'Delta']);
const TOKEN = /\\text\{([^}]*)\}|\\([a-zA-Z]+|[,{}])|@(\w+)|(\d[\d.,]*)|([A-Za-z]+)|([_^{}])|\s+|(.)/gu;

/** An element of MathML with its children. */
function element(name, ...children) {
  const made = document.createElementNS(MATH, name);
  made.append(...children);
  return made;
}

/** A formula as an element. `numbers`: what `@name` stands for, as text. */
export function formula(source, numbers = {}) {
  const tokens = tokensOf(source, numbers);
  const math = element('math', row(tokens, false));
  math.setAttribute('displaystyle', 'true'); // fractions in the size of the surrounding numbers
  if (tokens.length) throw new Error(`${source} has a } too many`);
  return math;
}

/** The parts of a formula: `[kind, text]`. */
export function tokensOf(source, numbers = {}) {
  const found = [];
  for (const [, text, command, name, number, letters, grouping, other] of source.matchAll(TOKEN)) {
    if (text !== undefined) found.push(['text', text]);
    else if (command !== undefined) found.push(['command', command]);
    else if (name !== undefined) found.push(...tokensFor(name, numbers));
    else if (number !== undefined) found.push(['number', number]);
    else if (letters !== undefined) found.push(...[...letters].map((letter) => ['letter', letter]));
    else if (grouping !== undefined) found.push(['grouping', grouping]);
    else if (other !== undefined) found.push(['sign', other]);
  }
  return found;
}

/** A number if it is known; negative ones are in parentheses, so that no two signs are adjacent. A formula may stand for several. */
function tokensFor(name, numbers) {
  const value = numbers[name];
  if (value === undefined) return [['unknown', '?']];
  return value.includes('\\') ? tokensOf(value) : [['number', value]];
}

/** A row of items, up to the end or the closing brace. */
function row(tokens, inside) {
  const made = element('mrow');
  while (tokens.length) {
    if (inside && isClosing(tokens[0])) {
      tokens.shift();
      return made;
    }
    if (isClosing(tokens[0])) break;
    made.append(scripted(tokens));
  }
  return made;
}

const isClosing = ([kind, text]) => kind === 'grouping' && text === '}';

/** One item with its subscript and superscript. */
function scripted(tokens) {
  const base = part(tokens);
  let below = null;
  let above = null;
  while (tokens.length && tokens[0][0] === 'grouping' && '_^'.includes(tokens[0][1])) {
    if (tokens.shift()[1] === '_') below = part(tokens);
    else above = part(tokens);
  }
  const under = base.textContent === '∑' || base.textContent === 'max';
  if (below && above) return element(under ? 'munderover' : 'msubsup', base, below, above);
  if (below) return element(under ? 'munder' : 'msub', base, below);
  return above ? element('msup', base, above) : base;
}

function part(tokens) {
  const [kind, text] = tokens.shift() ?? ['sign', ''];
  if (kind === 'grouping') return text === '{' ? row(tokens, true) : element('mo', text);
  if (kind === 'number' || kind === 'unknown') return element('mn', text);
  if (kind === 'letter') return element('mi', text);
  if (kind === 'text') return element('mtext', text);
  if (kind === 'sign') return element('mo', text === '-' ? '−' : text);
  return command(text, tokens);
}

function command(name, tokens) {
  if (name === 'frac') return element('mfrac', part(tokens), part(tokens));
  if (name === 'sqrt') return element('msqrt', part(tokens));
  if (name === ',' || name === 'quad') return spaced(name === ',' ? '0.17em' : '1em');
  if (name === 'left' || name === 'right') return element('mo', tokens.shift()[1]);
  if (name === '{' || name === '}') return element('mo', name);
  if (!(name in SIGNS)) throw new Error(`no formula has \\${name}`);
  return element(NAMES.has(name) || LETTERS.has(name) ? 'mi' : 'mo', SIGNS[name]);
}

function spaced(width) {
  const made = element('mspace');
  made.setAttribute('width', width);
  return made;
}
