// Languages of the page, available before their phrases (`assets/words/CODE.json`) load.

/** Code → button label, BCP 47 tag, and the separator between two sentences. */
export const LANGUAGES = {
  en: { name: 'EN', tag: 'en', gap: ' ' },
  zh: { name: '中文', tag: 'zh-CN', gap: '' },
};

export const isSupported = (code) => Object.hasOwn(LANGUAGES, code ?? '');
