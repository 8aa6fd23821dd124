// Explains terms in the page's text: the first occurrence of a term in each view gets a dotted underline and a card.
// Buttons that name a term have `data-explains`.

import { tables } from '../core/boot.js';
import { make } from '../core/dom.js';
import { on, state } from '../core/state.js';
import { t } from '../core/i18n.js';
import { Glossary, TERMS } from './glossary.js';
import { TermCard } from './term-card.js';

const IDLE_MS = 300; // milliseconds between a change of the page and the search for terms
const VIEWS = '.headlight.translate, [role=tabpanel]';
// Elements without term explanations: controls, live regions, user text, questions of the quiz, and two lines of the first
// screen, which has enough to click.
const EXCLUDED =
  '[aria-hidden=true], button, a, input, select, textarea, label, summary, option, b, bdi, dt, svg, math, pre, code, kbd, canvas, h1, .view-title, .text, .token, .label, .plot, ' +
  '.build h2, .quiz-question, .quiz-live, .columns .wall > .quiet, .columns .says, .all-terms, .keys, .tree-keys, .error, .sentence, .hidden-text, [lang], [dir=auto], [aria-live], [role=status], [role=alert], [role=button], [hidden]';
const SPLITTING_DISPLAY = /flex|grid/; // layouts in which a wrapped term would become a separate item

/** Must be called once per page. */
export function mountTerms() {
  new Terms();
}

class Terms {
  constructor() {
    this.card = new TermCard();
    this.cachedGlossary = null;
    this.timer = 0;
    this.observer = new MutationObserver(() => this.scheduleSearch());
    on(['language', 'tab'], () => this.scheduleSearch());
    on(['translation'], () => this.delaySearch());
    this.scheduleSearch();
  }

  /** Restarts the debounce, so that a new translation is painted first. Live translations do not restart it. */
  delaySearch() {
    if (!state.translation?.live) {
      clearTimeout(this.timer);
      this.timer = 0;
    }
    this.scheduleSearch();
  }

  /** Schedules a search for terms, unless one is scheduled already. */
  scheduleSearch() {
    this.observer.disconnect();
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (state.translation) for (const view of document.querySelectorAll(VIEWS)) this.mark(view);
      this.observer.observe(document.body, { childList: true, characterData: true, subtree: true, attributeFilter: ['hidden'] });
    }, IDLE_MS);
  }

  /** The glossary of the page's language, rebuilt after the phrases of the lessons load. */
  glossary() {
    const words = tables.words[state.language];
    const count = Object.keys(words).length;
    if (this.cachedGlossary?.language !== state.language || this.cachedGlossary.count !== count)
      this.cachedGlossary = { language: state.language, count, glossary: new Glossary(words) };
    return this.cachedGlossary.glossary;
  }

  mark(view) {
    if (!view.checkVisibility()) return;
    const markedTerms = new Set();
    for (const element of view.querySelectorAll('[data-explains]')) {
      if (!element.checkVisibility()) continue;
      const { explains } = element.dataset;
      element.setAttribute('aria-describedby', this.describeTerm(explains));
      markedTerms.add(explains);
    }
    for (const span of view.querySelectorAll('.term')) {
      if (!span.checkVisibility()) continue;
      if (markedTerms.has(span.dataset.term) && span !== document.activeElement) unwrap(span);
      else markedTerms.add(span.dataset.term);
    }
    const glossary = this.glossary();
    for (const node of listTextNodes(view)) {
      const fresh = glossary.find(node.data).filter(({ term }, index, all) => {
        return !markedTerms.has(term) && all.findIndex((item) => item.term === term) === index;
      });
      if (!fresh.length || !node.parentElement.checkVisibility() || SPLITTING_DISPLAY.test(getComputedStyle(node.parentElement).display))
        continue;
      for (const match of fresh.reverse()) this.wrap(node, match); // last match first, so that offsets stay valid
      for (const { term } of fresh) markedTerms.add(term);
      if (markedTerms.size === TERMS.length) break;
    }
  }

  wrap(node, { term, start, end }) {
    const rest = node.splitText(start);
    rest.splitText(end - start);
    const about = { class: 'term', role: 'button', tabindex: 0, 'aria-describedby': this.describeTerm(term), data: { term } };
    const span = make('span', about);
    rest.replaceWith(span);
    span.append(rest);
  }

  /** Adds the description of a term if it is missing. Returns the id of its element. */
  describeTerm(term) {
    this.card.describe(term, t(`term_${term}_says`));
    return `term-${term}`;
  }
}

function unwrap(span) {
  const parent = span.parentNode;
  span.replaceWith(...span.childNodes);
  parent.normalize();
}

/** Text nodes of a view in which terms are explained, collected before the DOM changes. */
function listTextNodes(view) {
  const accept = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data.trim() ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
    return node.matches(EXCLUDED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  };
  const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, accept);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return nodes;
}
