// The page may be magnified as a whole, for a class: a pixel of the window is then less than one of the page.

/** Pixels of the window in one of the page. */
export function magnified() {
  const root = document.documentElement;
  return root.classList.contains('beamer') ? root.getBoundingClientRect().width / root.offsetWidth || 1 : 1;
}
