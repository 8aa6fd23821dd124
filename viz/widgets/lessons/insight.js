// Another step begins at its title: whoever changes it from far below sees where they are.

const ROOM = 12; // pixels above the title

/** Scroll to the title if it is out of sight; `above` may stick to the top of the window, and then covers what is under it. */
export function intoSight(title, above) {
  const { top, bottom } = title.getBoundingClientRect();
  const stuck = above.getBoundingClientRect();
  const covered = stuck.top <= 1 && stuck.width > innerWidth / 2 ? Math.max(0, stuck.bottom) : 0;
  if (top < covered || bottom > innerHeight) scrollBy({ top: top - covered - ROOM });
}
