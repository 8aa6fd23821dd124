// Scrolls to the title when the step changes.

const MARGIN_TOP = 12; // pixels above the title

/** Scroll to the title if it is not visible; `above` may be sticky and cover it. */
export function scrollToTitle(title, above) {
  const { top, bottom } = title.getBoundingClientRect();
  const bounds = above.getBoundingClientRect();
  const visibleTop = bounds.top <= 1 && bounds.width > innerWidth / 2 ? Math.max(0, bounds.bottom) : 0;
  if (top < visibleTop || bottom > innerHeight) scrollBy({ top: top - visibleTop - MARGIN_TOP });
}
