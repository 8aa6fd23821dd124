// The focus through a drawing, which makes all elements anew: an element is found again by its name.

const NAMES = ['field', 'cell', 'view']; // data attributes that name one element of the page

/** The selector of the focused element, or an empty text. */
export function focusSelector(page) {
  const { activeElement: element } = document;
  if (!page.contains(element)) return '';
  const { dataset } = /** @type {HTMLElement} */ (element);
  const name = NAMES.find((each) => dataset[each] !== undefined);
  return name ? `[data-${name}="${dataset[name]}"]` : '';
}

/** Focus an element; in a field the caret is after its text. */
export function focusAgain(page, selector) {
  const element = selector && page.querySelector(selector);
  if (!element) return;
  element.focus();
  element.setSelectionRange?.(element.value.length, element.value.length);
}
