// Positions of the tour's ring and card. The card overlaps the ring only if no other position fits.

// Distances in pixels.
const GAP = 14; // between the ring and the card
const MARGIN = 8; // between the card and the edge of the window

/** Bounding box of the rectangles with a small margin; null if there are no rectangles. */
export function getBoundingBox(rectangles) {
  if (!rectangles.length) return null;
  const x = Math.min(...rectangles.map((rectangle) => rectangle.x));
  const y = Math.min(...rectangles.map((rectangle) => rectangle.y));
  const right = Math.max(...rectangles.map((rectangle) => rectangle.x + rectangle.width));
  const bottom = Math.max(...rectangles.map((rectangle) => rectangle.y + rectangle.height));
  return { x: x - 6, y: y - 4, width: right - x + 12, height: bottom - y + 8 };
}

const getWindowSize = () => ({ width: document.documentElement.clientWidth, height: innerHeight });

export const isVisible = ({ y, height }) => y + height > 0 && y < innerHeight;

/** Whether the ring is visible, with space for a card of this height above or below. */
export function fitsBeside({ y, height: targetHeight }, height, windowHeight = getWindowSize().height) {
  const requiredHeight = height + GAP + 2 * MARGIN;
  const bottom = y + targetHeight;
  return y >= MARGIN && bottom <= windowHeight - MARGIN && (y >= requiredHeight || windowHeight - bottom >= requiredHeight);
}

/** Whether the ring and a card of this height fit into the window, one above the other. */
export const fitsBelow = (ring, height, windowHeight = getWindowSize().height) => ring.height + height + GAP + 2 * MARGIN <= windowHeight;

/** Scroll distance that centres the ring, together with its card if both fit. */
export function computeScrollOffset(ring, height, windowHeight = getWindowSize().height) {
  const totalHeight = ring.height + (fitsBelow(ring, height, windowHeight) ? height + GAP : 0);
  return ring.y - Math.max(MARGIN, (windowHeight - totalHeight) / 2);
}

/** Position of a card: below, above, right or left of its ring, else at the window edge that is farther from the ring. */
export function computeCardPosition(ring, { width, height }, windowSize = getWindowSize()) {
  const clamp = (position, limit) => Math.max(MARGIN, Math.min(position, limit - MARGIN));
  const left = clamp(ring ? ring.x : (windowSize.width - width) / 2, windowSize.width - width);
  if (!ring) return { left, top: clamp((windowSize.height - height) / 2, windowSize.height - height) };
  const [right, bottom] = [ring.x + ring.width, ring.y + ring.height];
  if (bottom + GAP + height <= windowSize.height - MARGIN && bottom > 0) return { left, top: bottom + GAP };
  if (ring.y - GAP - height >= MARGIN && ring.y < windowSize.height) return { left, top: ring.y - GAP - height };
  const top = clamp(ring.y, windowSize.height - height);
  if (right + GAP + width <= windowSize.width - MARGIN) return { left: right + GAP, top };
  if (ring.x - GAP - width >= MARGIN) return { left: ring.x - GAP - width, top };
  return { left, top: ring.y + ring.height / 2 > windowSize.height / 2 ? MARGIN : windowSize.height - height - MARGIN };
}
