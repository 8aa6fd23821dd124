// Scrolls to the title when the step changes.

const ROOM = 12; // pixels above the title

/** Scroll to the title if it is not visible; `above` may be sticky and cover it. */
export function scrollToTitle(title, above) {
  const { top, bottom } = title.getBoundingClientRect();
  const stuck = above.getBoundingClientRect();
  const covered = stuck.top <= 1 && stuck.width > innerWidth / 2 ? Math.max(0, stuck.bottom) : 0;
  if (top < covered || bottom > innerHeight) scrollBy({ top: top - covered - ROOM });
}
