// Kinds of messages, which `viz/service/messages.py` declares.

/** @typedef {import('messages').TranslationMessage | import('messages').DownloadMessage} Message */

/**
 * Whether a reply of the server is a message of this kind.
 * @template {Message['what']} What
 * @param {any} reply
 * @param {What} what
 * @returns {reply is Extract<Message, { what: What }>}
 */
export const isMessage = (reply, what) => reply?.what === what;
