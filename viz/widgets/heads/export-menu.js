// Export menu: images, data, offline page, link.

import { callWithRetry, loadPlotly } from '../core/boot.js';
import { make, replace } from '../core/dom.js';
import { formatEmbedUrl } from '../core/embed.js';
import { FIELDS, selectionValues } from '../core/fields.js';
import { formatPermalink } from '../core/permalink.js';
import { state } from '../core/state.js';
import { shownHead } from '../core/store.js';
import { faultText, hasPhrase, t } from '../core/i18n.js';
import { headName } from '../parts/head-names.js';
import { copyText, download, saveBytes } from '../parts/save.js';
import { renderGif } from './gif-export.js';
import { formatIframe, formatPythonSnippet } from './snippets.js';

const PICTURES = ['png', 'svg', 'wall_png', 'wall_svg'];
const GROUPS = {
  share: ['link', 'iframe', 'python'],
  picture: [...PICTURES, 'gif'],
  data: ['csv', 'npz', 'json', 'html'],
  class: ['deck', 'sheet'],
};
const COPY_MESSAGES = { iframe: 'iframe_copied', python: 'python_copied', link: 'link_copied' };
const EXTERNAL_ACTIONS = { sheet: () => print(), deck: () => dispatchEvent(new CustomEvent('headlight-deck', { detail: 'save' })) };
const MARGIN = 8; // pixels between the menu and the window's edge
const TOAST_MS = 2600;
const MEDIA_TYPES = { csv: 'text/csv', npz: 'application/octet-stream', json: 'application/json', html: 'text/html' };

/** @param {import('../core/server.js').Server | undefined} server */
export function mountExportMenu(server) {
  const button = make('button', { type: 'button', class: 'link', 'aria-haspopup': 'menu', 'aria-expanded': 'false' });
  const menu = make('div', { class: 'menu', role: 'menu', hidden: true });
  const toast = make('div', { class: 'toast', role: 'status', hidden: true });
  const element = make('div', { class: 'take-away', hidden: !server }, button, menu, toast); // a saved page has no server
  let toastTimer = 0;

  const setOpen = (isOpen) => {
    menu.hidden = !isOpen;
    if (isOpen) fill();
    button.setAttribute('aria-expanded', String(isOpen));
  };
  const showToast = (text) => {
    toast.textContent = text;
    toast.hidden = false;
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => (toast.hidden = true), TOAST_MS);
  };
  button.addEventListener('click', () => {
    setOpen(menu.hidden);
    if (!menu.hidden) menu.querySelector('button')?.focus({ preventScroll: true });
  });
  addEventListener('resize', () => menu.hidden || keepInWindow(menu));
  document.addEventListener('click', (event) => element.contains(event.target) || setOpen(false));
  menu.addEventListener('keydown', (event) => {
    const items = [...menu.querySelectorAll('button')];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      event.stopPropagation();
      items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
    }
    if (event.key === 'Escape') {
      event.stopPropagation();
      setOpen(false);
      button.focus();
    }
  });
  const runAction = async (form) => {
    setOpen(false);
    button.focus();
    if (form in EXTERNAL_ACTIONS) {
      EXTERNAL_ACTIONS[form]();
      return;
    }
    try {
      if (form in COPY_MESSAGES) await copyText(CLIPBOARD_TEXTS[form]());
      else if (form === 'gif') await saveAnimation();
      else await save(form, server);
      showToast(form in COPY_MESSAGES ? t(COPY_MESSAGES[form]) : t('saved', { form: formatName(form) }));
    } catch (error) {
      console.warn(error);
      showToast(faultText(error, 'not_saved'));
    }
  };

  const fill = () => {
    const item = (form) => {
      const [name, description] = [make('b', {}, formatName(form)), make('span', {}, t(`form_${form}_says`))];
      return make('button', { type: 'button', role: 'menuitem', onclick: () => runAction(form) }, name, description);
    };
    const isOffered = (form) => server?.export || form in EXTERNAL_ACTIONS || form in COPY_MESSAGES || form === 'gif';
    const group = ([name, forms]) => {
      const title = make('h3', { id: `export-${name}` }, t(`export_${name}`));
      return make('div', { class: 'group', role: 'group', 'aria-labelledby': `export-${name}` }, title, ...forms.map(item));
    };
    const groups = Object.entries(GROUPS).map(([name, forms]) => [name, forms.filter(isOffered)]);
    replace(menu, ...groups.filter(([, forms]) => forms.length).map(group));
    keepInWindow(menu);
  };

  return {
    element,
    draw() {
      button.textContent = t('export');
      if (!menu.hidden) fill();
    },
  };
}

/** Places the menu below its button, or further up and right to keep it inside the window. A taller menu scrolls. */
function keepInWindow(menu) {
  menu.style.cssText = `max-width:${document.body.clientWidth - 2 * MARGIN}px`;
  const { left, bottom } = menu.getBoundingClientRect();
  const [overflowBelow, overflowLeft] = [bottom + MARGIN - innerHeight, MARGIN - left];
  if (overflowBelow > 0) menu.style.marginTop = `${-overflowBelow}px`;
  if (overflowLeft > 0) menu.style.right = `${-overflowLeft}px`;
}

const formatName = (form) => (hasPhrase(`form_${form}`) ? t(`form_${form}`) : form.toUpperCase());

/**
 * Python code for the current view. If a reverse model reranked the translation, the code names that model, or forces the
 * tokens if its name is unknown: without it, the model would choose another translation.
 */
function formatPython(translation) {
  const query = translation.requestValues();
  const isReranked = translation.hypotheses.some(({ reverse_score: score }) => score !== null);
  const reverseModel = isReranked ? translation.way_back : '';
  const request = isReranked && !reverseModel ? { ...query, prefix: null, target: translation.target.map(({ id }) => id) } : query;
  const defaults = Object.fromEntries(FIELDS.request.filter(({ option }) => option).map((row) => [row.name, row.default]));
  const selection = { kind: state.kind, ...shownHead(state) };
  return formatPythonSnippet(request, selection, { ...defaults, ...translation.model.python_defaults }, reverseModel);
}

const CLIPBOARD_TEXTS = {
  link: () => new URL(formatPermalink(), location.href).href,
  iframe() {
    const { layer, head } = shownHead(state);
    return formatIframe(formatEmbedUrl(formatPermalink(), { alone: true }), `${t(`kind_${state.kind}`)}, ${headName(layer, head)}`);
  },
  python: () => formatPython(state.translation),
};

/** @param {import('../core/server.js').Server} server */
async function save(form, server) {
  const selection = selectionValues({ ...state, ...shownHead(state) });
  const query = { form, request: state.translation.requestValues(), selection, theme: state.theme, language: state.language };
  const answer = await callWithRetry(server.export, query);
  if (PICTURES.includes(form)) return savePicture(form.split('_').at(-1), answer);
  const bytes = Uint8Array.from(atob(answer.content), (letter) => letter.charCodeAt(0));
  return saveBytes(answer.name, [bytes], MEDIA_TYPES[form]);
}

/** Saves an animation of the player, rendered in the browser. */
async function saveAnimation() {
  const { name, parts } = await renderGif();
  saveBytes(name, parts, 'image/gif');
}

/** Saves the server's Plotly figure as an image, at three times its size for PNG. */
async function savePicture(form, { name, figure }) {
  const plotly = await loadPlotly();
  const { width, height } = figure.layout;
  const picture = await plotly.toImage(figure, { format: form, width, height, scale: form === 'png' ? 3 : 1 });
  download(name, picture);
}
