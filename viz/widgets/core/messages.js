// Kinds of messages, declared in `viz/service/messages.py`.

/** @typedef {import('messages').TranslationMessage | import('messages').DownloadMessage} Message */

/**
 * Whether a reply of the server is a message of this kind.
 * @template {Message['what']} What
 * @param {any} reply
 * @param {What} what
 * @returns {reply is Extract<Message, { what: What }>}
 */
export const isMessage = (reply, what) => reply?.what === what;
