// Copies text and saves files.

import { make } from '../core/dom.js';

/** Copies text, with `execCommand` if the clipboard API lacks https or permission. Pass an open dialog as `host`. */
export async function copyText(text, host = document.body) {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch {
    // Fall back to `execCommand`.
  }
  const focusedElement = /** @type {HTMLElement} */ (document.activeElement);
  const field = make('textarea', { readonly: true, 'aria-hidden': 'true', style: 'position: fixed; opacity: 0' });
  field.value = text;
  host.append(field);
  field.select();
  const hasCopied = document.execCommand('copy');
  field.remove();
  focusedElement?.focus();
  if (!hasCopied) throw new Error('The browser does not allow this page to copy text.');
}

export const saveBytes = (name, parts, type) => download(name, URL.createObjectURL(new Blob(parts, { type })));

/** Downloads a URL as a file. */
export function download(name, url) {
  const anchor = make('a', { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  if (url.startsWith('blob:')) setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
