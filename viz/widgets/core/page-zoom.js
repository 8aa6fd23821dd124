// Converts window pixels to page pixels, since presentation mode zooms the whole page.

/** Window pixels per page pixel. */
export function pageZoom() {
  const root = document.documentElement;
  return root.classList.contains('beamer') ? root.getBoundingClientRect().width / root.offsetWidth || 1 : 1;
}
