// Progress of a reader in the lesson. The browser remembers the parts that are in the model.

const STORAGE_KEY = 'headlight-build';

export class BuildState {
  /** @param {string[]} names of all parts in order */
  constructor(names) {
    this.names = names;
    this.part = names[0]; // the open part
    this.built = new Set(readStored(names)); // the parts that are in the model
    this.removed = ''; // the part that is removed from the finished model
    this.stage = ''; // an earlier stage whose results the reader views
    this.typed = {}; // text by part and field
    this.drafts = new Map(); // text that is being typed, by part and field; kept when the page is redrawn
    this.lines = {}; // the verdict on the chosen line, by part
    this.views = { qkv: 'q', cross: 'sides' };
    this.sides = { q: '', k: '', v: '' };
    this.masked = new Set();
    this.maskChecked = false;
    this.bars = [];
    this.barsCompared = false;
    this.drawnRow = 0; // index of the row to draw
    this.drewRow = false;
    this.highlightedCell = null; // [row, column]
  }

  get index() {
    return this.names.indexOf(this.part);
  }

  isBuilt(name = this.part) {
    return this.built.has(name);
  }

  open(name) {
    this.part = name;
    this.removed = '';
    this.stage = '';
    this.highlightedCell = null;
  }

  /** Puts the open part into the model. */
  put() {
    this.built.add(this.part);
    this.removed = '';
    this.stage = '';
    store([...this.built]);
  }

  /** Removes all parts from the model and opens the first one. */
  restart() {
    this.built.clear();
    store([]);
    this.open(this.names[0]);
  }

  /** The last part in the order of the lesson that is in the model. */
  get lastBuilt() {
    return this.names.filter((name) => this.built.has(name)).at(-1) ?? this.names[0];
  }

  get isWhole() {
    return this.names.every((name) => this.built.has(name));
  }

  /** The text that is being typed, or undefined. */
  draft(field) {
    return this.drafts.get(`${this.part} ${field}`);
  }

  setDraft(field, text) {
    this.drafts.set(`${this.part} ${field}`, text);
  }

  /** Stores the text of a field that the reader has finished typing. */
  setText(field, text) {
    this.drafts.delete(`${this.part} ${field}`);
    this.typed[this.part] = { ...this.typed[this.part], [field]: text };
  }

  text(field) {
    return this.typed[this.part]?.[field] ?? '';
  }

  get view() {
    return this.views[this.part] ?? '';
  }
}

/** The number of parts that are in the model. */
export const countBuilt = () => readStored(null).length;

let visitNames = null; // the parts in the model during this visit, if the browser cannot store them

function readStored(names) {
  try {
    const stored = visitNames ?? JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return names ? names.filter((name) => stored.includes(name)) : stored;
  } catch {
    return [];
  }
}

function store(names) {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(names));
  } catch {
    visitNames = names;
  }
}
