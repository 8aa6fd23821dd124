// The page within another one: `?embed=head` shows the head and nothing round it.

const embedMode = () => new URLSearchParams(location.search).get('embed');

/** Whether the page is one head for the page of another site. */
export const isEmbedded = () => embedMode() === 'head';

/** The permalink of the current view, as a single head or as the whole page. */
export function urlOf(hash, { alone }) {
  const address = new URL(location.pathname, location.href);
  address.search = alone ? '?embed=head' : '';
  address.hash = hash;
  return address.href;
}
