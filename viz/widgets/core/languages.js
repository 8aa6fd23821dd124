// The page's own languages: a table of words each, `assets/words/CODE.json`, and what cannot wait until it is fetched.

/** Code → button label, BCP 47 tag, and the separator between two sentences. */
export const LANGUAGES = {
  en: { name: 'EN', tag: 'en', gap: ' ' },
  zh: { name: '中文', tag: 'zh-CN', gap: '' },
};

export const isSupported = (code) => Object.hasOwn(LANGUAGES, code ?? '');
