// Restores the focus after the page is redrawn, which recreates all elements. A data attribute identifies the element.

const IDENTIFYING_ATTRIBUTES = ['field', 'cell', 'view']; // data attributes whose value identifies one element of the page

/** The selector of the focused element, or an empty string. */
export function focusSelector(page) {
  const { activeElement: element } = document;
  if (!page.contains(element)) return '';
  const { dataset } = /** @type {HTMLElement} */ (element);
  const name = IDENTIFYING_ATTRIBUTES.find((attribute) => dataset[attribute] !== undefined);
  return name ? `[data-${name}="${dataset[name]}"]` : '';
}

/** Focus an element; in a field the caret is after its text. */
export function focusAgain(page, selector) {
  const element = selector && page.querySelector(selector);
  if (!element) return;
  element.focus();
  element.setSelectionRange?.(element.value.length, element.value.length);
}
