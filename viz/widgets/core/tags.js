// What models call a language → what browsers call it: "deu_Latn", "de" and "zho_Hant" → "de", "de" and "zh-Hant".

const OTHERS = { jap: 'ja' }; // codes of models that no standard knows
const known = new Map();

/** The tag for `lang` attributes; what makes no sense stays as it is. */
export function languageTag(code) {
  if (!known.has(code)) known.set(code, tagOf(code));
  return known.get(code);
}

function tagOf(code) {
  const [language, ...rest] = code.split(/[_-]/);
  try {
    const locale = new Intl.Locale([OTHERS[language] ?? language, ...rest].join('-'));
    // A script that the language has anyway says nothing.
    const usual = new Intl.Locale(locale.language).maximize().script;
    const script = locale.script === 'Hang' ? 'Kore' : locale.script; // Hangul alone, and Hangul with some Han
    const parts = [locale.language, script !== usual && script, locale.region];
    return parts.filter(Boolean).join('-');
  } catch {
    return code;
  }
}
