// The scale of effects: diverging colours around zero, by the square root, so that small effects are visible.

export const STRONG_EFFECT = 0.4; // nats; the colour is full from here

/** Maps an effect in nats to a level from −1 (against the word) to 1 (for it). */
export const signedLevel = (effect) => Math.sign(effect) * Math.sqrt(Math.min(1, Math.abs(effect) / STRONG_EFFECT));

/** Maps an effect in nats to a level on the palette of differences, from 0 (against the word) to 1 (for it). */
export const effectLevel = (effect) => (1 + signedLevel(effect)) / 2;
