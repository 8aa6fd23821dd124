// Converts models' language codes to BCP 47 tags: "deu_Latn", "de" and "zho_Hant" → "de", "de" and "zh-Hant".

const NON_STANDARD_CODES = { jap: 'ja' };
const tagCache = new Map();
// Some models use the English names of languages.
const ENGLISH_NAMES = new Intl.DisplayNames(['en'], { type: 'language' });
const COMMON_CODES =
  'ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr sv ta th tr uk ur vi zh';
const languagesByName = new Map(COMMON_CODES.split(' ').map((code) => [ENGLISH_NAMES.of(code)?.toLowerCase(), code]));

/** The tag for `lang` attributes; invalid codes are returned unchanged. */
export function languageTag(code) {
  if (!tagCache.has(code)) tagCache.set(code, toTag(code));
  return tagCache.get(code);
}

function toTag(code) {
  const [language, ...rest] = code.split(/[_-]/);
  if (language.length > 3) return languagesByName.get(code.toLowerCase()) ?? code; // an English name
  try {
    const locale = new Intl.Locale([NON_STANDARD_CODES[language] ?? language, ...rest].join('-'));
    // The default script of a language is omitted.
    const common = new Intl.Locale(locale.language).maximize().script;
    const script = locale.script === 'Hang' ? 'Kore' : locale.script; // treat Hangul as Korean script
    const parts = [locale.language, script !== common && script, locale.region];
    return parts.filter(Boolean).join('-');
  } catch {
    return code;
  }
}
