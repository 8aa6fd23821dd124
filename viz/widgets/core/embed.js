// Embedding in another page: `?embed=head` shows a single head.

const getEmbedMode = () => new URLSearchParams(location.search).get('embed');

export const isEmbedded = () => getEmbedMode() === 'head';

/** The permalink of the current view, as a single head or as the whole page. */
export function formatEmbedUrl(hash, { alone }) {
  const address = new URL(location.pathname, location.href);
  address.search = alone ? '?embed=head' : '';
  address.hash = hash;
  return address.href;
}
