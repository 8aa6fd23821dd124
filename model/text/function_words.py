"""Function words of several languages: articles, pronouns, prepositions, conjunctions, auxiliary verbs, particles.

All other words are content words. `identification.py` has different lists: the most frequent words of each language.
"""

from __future__ import annotations

from headlight.model.text.languages import to_two_letters

# Closed word classes, with their inflected forms. Verbs are included if they are mostly auxiliary.
FUNCTION_WORDS = {
    "de": "ab aber alle allem allen aller alles als also am an ans auch auf aus außer bei beim bevor bin bis bist da dabei dadurch dafür dagegen daher damit danach dann daran darauf darin darüber das dass davon davor dazu dein deine deinem deinen deiner deines dem den denen denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es etwas euch euer eure für gegen gewesen geworden hab habe haben habt hast hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in indem ins ist ja jede jedem jeden jeder jedes jene jetzt kann kannst kein keine keinem keinen keiner können könnte man mein meine meinem meinen meiner meines mich mir mit muss müssen nach neben nicht nichts noch nun nur ob obwohl oder ohne sehr seid sein seine seinem seinen seiner seines seit sich sie sind sobald sogar soll sollen sollte sondern so über um und uns unser unsere unserem unseren unter vom von vor war waren warst was weil welche welcher welches wem wen wenn wer werde werden wie will wir wird wirst wo wollen worden wurde wurden während würde würden zu zum zur zwar zwischen",  # noqa: E501
    "en": "a about above after against all also am an and any are as at be because been before being below between both but by can can't could couldn't did didn't do does doesn't doing don't down during each either every few for from had hadn't has hasn't have haven't having he he'll he's her here hers herself him himself his how i i'd i'll i'm i've if in into is isn't it it's its itself just let's may me might mine more most must my myself neither no nor not of off on once one only onto or our ours ourselves out over own same shall she she'll she's should shouldn't since so some such than that that's the their theirs them themselves then there there's these they they'll they're this those though through to too under until up upon us very was wasn't we we'll we're were weren't what what's when where where's whether which while who whom whose why will with within without won't would wouldn't yet you you'll you're your yours yourself",  # noqa: E501
    "es": "a al algo algún alguna algunas alguno algunos ante aquel aquella aquello así aun aunque bajo cada como con contra cual cuando cuál cuándo cómo de del desde donde dónde durante e el él ella ellas ellos en entre era eran eres es esa esas ese eso esos esta estaba estamos están estar estas este esto estos estoy está fue fueron ha había habían han has hasta hay he hemos la las le les lo los más me mi mí mis mucho muy nada ni ningún ninguna no nos nosotros o os otra otro para pero poco por porque puede pueden que qué quien quién se ser si sí sido sin sobre son soy su sus también tan te ti tiene tu tú tus un una uno unos usted ustedes y ya yo",  # noqa: E501
    "fr": "a ai ainsi alors as au aucun aucune aussi autre autres aux avait avant avec avez avoir avons c ça ce ceci cela celle celles celui ces c'est cet cette ceux chaque chez comme comment d dans de depuis des donc dont du elle elles en encore entre es est et étaient était été être eu eux fait il ils j je l la là le les leur leurs lorsque lui m ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi pourrai pourrait qu qu'il qu'elle quand que quel quelle quelles quels qui quoi s sa sans se sera serait ses si sien son sont sous suis sur t ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y",  # noqa: E501
    "zh": "的 地 得 了 着 过 是 不 没 没有 有 在 和 与 跟 同 及 或 或者 而 而且 但 但是 可是 不过 因为 所以 如果 要是 虽然 就 才 都 也 还 又 再 很 太 最 更 把 被 让 给 对 对于 从 到 向 往 由 为 为了 以 于 用 比 吗 呢 吧 啊 呀 嘛 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 自己 这 那 哪 这个 那个 这些 那些 这里 那里 哪里 哪儿 这儿 那儿 这么 那么 什么 谁 怎么 怎么样 怎样 为什么 多少 几 个 只 条 本 张 件 位 把 些 一 一个 一些 一下 会 能 能够 可以 可 要 想 应该 必须 得 上 下 里 中 外 后 前 之 其 者 所 每 每个 某 各 另 什么样 时 时候 正在 已 已经 将 只有",  # noqa: E501
}
_WORD_SETS = {language: frozenset(words.split()) for language, words in FUNCTION_WORDS.items()}
_NO_WORDS: frozenset[str] = frozenset()


def is_content(word: str, language: str) -> bool:
    """Whether a word has letters or digits and is not a function word of the language.

    Args:
        word: A word of a text, with or without surrounding spaces.
        language: A model's language code: "de", "deu_Latn". Languages that are not listed have no function words.
    """
    normal_form = word.strip().casefold().replace("’", "'")
    return any(map(str.isalnum, normal_form)) and normal_form not in _WORD_SETS.get(to_two_letters(language), _NO_WORDS)
