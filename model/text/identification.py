"""Language identification by script and frequent words; None if uncertain.

A script that only one language uses identifies this language. If several languages share a script, each word that is
frequent in a language votes for it. A word that is frequent in n languages counts 1/n for each of them. Letters and
endings that few languages have vote in the same way. The best language must be clearly ahead of the second.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from functools import cache

# Words that are frequent in running text, mostly articles, pronouns, prepositions and auxiliaries.
FREQUENT = {
    "cs": "a aby ale ani asi by byl byla bylo být co což do ho jak jako je jeho jej jen ještě jsem jsi jsme jsou já k kde když která které který mi mne má mám mě může na nebo není než o od on ona oni po pod pro proto při s se si tak také tam ten to tu ty u v ve vy však z za ze že",  # noqa: E501
    "da": "af alle at blev da de dem den der deres det dig din dit du efter eller en end er et for fra få går han hans har hende her hun hvad hvis hvor i ikke ind jeg kan kom kunne man med meget men mig min mit ned når og også om op os over på sig sin skal som så til ud under var ved vi vil ville være",  # noqa: E501
    "de": "abend abends aber alle alles als also alt alte alten am an apfel arbeit arbeitet auch auf aus auto bald baum bei beim bett bin bis bist bitte bleibt brauche braucht brot bruder buch da damit danke dann das dass dein deine dem den denn der des deshalb dich die dies diese diesem diesen dieser dieses dir doch draußen drei du durch ein eine einem einen einer eines er es essen etwas euch euer familie fenster frau frauen freund freunde freut früh fünf für garten gegen gehe gehen geht gemacht genug gerade gern gesehen gestern gesund gibt glücklich groß große großen großer gut gute guten gutes habe haben hat hatte hatten haus hause heißt heute hier hund ich ihm ihn ihnen ihr ihre ihrem ihren im immer in ins isst ist ja jahr jahre jahren jede jeden jeder jetzt junge jungen kann kannst katze kauft kein keine keinen kind kinder klein kleine kleinen kleiner kocht kommen kommt können küche lange lassen leben leute lies liest links mach mache machen macht mal mama man mann meer mehr mehrere mein meine meinem meinen meiner menschen mich milch mir mit mittag morgen morgens muss mutter mädchen männer möchte möchten möchtest müde müssen nach nachts name neben neu neue neuen nicht nichts niemand noch nur ob oder oft ohne oma opa person personen platz recht rechts regnet rot sagen sagt sagte schaut schlafen schläft schnee schnell schon schreibt schule schwester schön sechs sehen sehr sein seine seinen seiner seit sich sie sieben sieht sind singt sitzen sitzt so sohn sommer spielen spielt sprechen spricht stadt stehen steht straße stunde stunden tag tage tagen tee tisch tochter trinke trinken trinkt trägt tut tür uhr um und uns unser unsere unter vater viel viele vielen vielleicht vier vom von vor wagen wahr wann war waren warm warte warum was wasser weg weil wein weiter weiß weißt welche welcher wenn wer werden wetter wie wieder will wir wird wirklich wo woche wochen wohne wohnt wollen wollte während würde zehn zeit zimmer zu zug zum zur zusammen zwei zwischen über",  # noqa: E501
    "en": "about after again ago all always am an and animal answer any anything apples are as ask asked at be beautiful because bed been before being best better big bird black blue book boy bread bring brother but buy by called came can can't car cat child children city close clothes cold come could country dad daughter day days did didn't dinner do does doesn't dog doing don't door drink drives each early eat eats eight english enough even ever every everybody everyone everything eyes family far fast father favourite few find first five food for found four friend friends from full garden gave get gets girl give gives go goes going gone got grandma great green group had hair hand happy has hat have having he he's hear help her here him himself his home hot hour hours house how hungry i i'd i'll i'm i've if in into is isn't it it's its just keep kitchen know knows language last late left let let's life light like likes listen little live lived lives long look looking looks love made make makes man many maybe me mean men milk money month months more morning mother mountain much mum must my myself name need needs never next nice night no not nothing now of off old on once one only open or orange other our out outside over own park people person place play playing plays please read reading red right room running said saw say says school sea see seven she shirt shop short should show sing sister sit sits sitting six sleep small snow so some someone something sometimes son soon speak standing start still stop street sun sure take taking talk tea tell ten than thank thanks that that's the their them then there there's these they they're thing things think this those thought three tired to today together told tomorrow too took town train tree try turn two under understand until up us used very wait walk walking walks want wanted wants warm was wasn't watch water way we we're wear wearing week weeks well went were what when where which while white who whom why will window wine winter with without woman women won't word words work working works world would write year years yellow yes yesterday yet you you're young your",  # noqa: E501
    "es": "a agua al algo antes aquí así aunque años bien bueno cada casa como con cuando cuál cómo de del desde donde dos día días dónde el ella ellos en entre era eres es esa ese eso esta estaba estado estamos estar este esto estos estoy está están estás fue gracias ha había han has hasta hay he hombre la las le les lo los mañana me mi mis mucho mujer muy más nada ni no nos nosotros nunca o os para pero por porque puede pues que quien quiero qué se sea ser si sin sobre son soy su sus sí también tan te tengo tiempo tiene tienes todo todos tu tus tú un una uno unos usted va vamos vas voy y ya yo él",  # noqa: E501
    "fi": "ehkä ei eivät en et että hän hänen ja jo joka jos kaikki kanssa koska kuin kun me mikä minun minut minä mitä mutta myös ne niin nyt olen olet oli olin on ovat se sekä sen siellä sinun sinä sitten sitä tai tämä tässä tätä vain vielä voi",  # noqa: E501
    "fr": "a ai alors as au aussi autre aux avait avant avec avez avoir bien bonjour c'est ce cela ces cet cette chercher chez comme d'un d'une dans de depuis des deux dit donc du eau elle elles en encore entre est et eu faire fait faut femme gens grand grande homme il ils j'ai jamais je jeune jour la le les leur lui là ma maintenant mais maison me merci mes moi mon même n'est ne nos notre nous on ont ou où par parce pas petit petite peu peut plus pour pourquoi qu'il quand que quel quelle qui rien sa sans se ses si son sont sous suis sur ta te temps tes toi ton toujours tous tout toute très tu un une va va-t-en vais vas voir vont vos votre vous y à ça étaient étais était été être",  # noqa: E501
    "hu": "a az azt csak de egy el és ez ezt én fel ha hogy hol ide igen is ki kell lehet meg mert mi mint miért mit most már még nagyon nem neki nincs ő ők pedig sem szép te ti vagy vagyok van volt ön",  # noqa: E501
    "id": "ada adalah akan aku anda apa atau bagaimana bahwa banyak belum bisa dalam dan dari dengan di dia harus ini itu jika juga kami karena ke kita lagi lebih mereka oleh orang pada sangat saya sebuah sedang semua seperti sudah telah tetapi tidak untuk yang",  # noqa: E501
    "it": "a abbiamo ad agli ai al alla alle anche ancora avere bene c'è che chi ci come con cosa così cui da dal dalla degli dei del dell' della delle di dopo dove due e ed era erano essere fare fino fra gli ha hai hanno ho i il in io l' la le lei lo loro lui ma me mi mia mio molto nel nella noi non nostro o ogni per perché più poi prima qualcosa quando quella quello questa questo qui sei senza si sia siamo solo sono sta stato su sua sul sulla suo te ti tra tu tutti tutto un un' una uno vi voi è",  # noqa: E501
    "nl": "aan al alle als altijd ben bent bij daar dan dat de deze die dit doen door dus een en er geen goed haar had hadden heb hebben hebt heeft heel hem hen het hier hij hoe hun ik in is ja je jij jouw jullie kan kunnen maar me meer met mij mijn moet moeten na naar net niet niets nog nooit nu of om ons onze ook op over te tegen toch toen tot uit van veel voor waar waarom wanneer want waren was wat we weer wel wie wij wil word worden wordt zal ze zei zich zij zijn zo zou",  # noqa: E501
    "pl": "a aby ale bardzo bez bo być był była było ci cię co czy dla dlaczego do dobrze gdy gdzie go i ich ile ja jak jako jego jej jest jestem jesteś jeszcze już kiedy kto która które który ma mam mi mnie może można my mój na nas nic nie nigdy niż o od on ona oni po pod przed przez przy się są ta tak także tam ten też to tu tutaj ty tylko tym u w we wszystko z za ze że żeby",  # noqa: E501
    "pt": "a ao aos aqui as até bem com como da das de dela dele depois do dois dos e ela ele eles em entre era essa esse esta estava este estou está estão eu foi fui há isso isto já lhe mais mas me mesmo meu minha muito muitos na nada nas nem no nos nossa nosso nunca não nós o onde os ou para pela pelo pode por porque qual quando que quem se sem ser seu sobre sua são só também te tem tenho ter tinha todos tu tudo um uma você vocês à às é",  # noqa: E501
    "ro": "a aceasta această acest ai al ale am ar are au așa bine ca care ce cel cu cum când că da dacă de deci despre din doar după ea ei el ele era este eu fi foarte fost la le lui mai mea meu mi nici noastră noi nu o pe pentru prea puțin până sa sau se sunt ta te toate tot tu un unde unei unui va voi vor vă îi îl îmi împreună în între și",  # noqa: E501
    "sv": "alla allt att av blev bli blir de dem den denna deras det detta dig din ditt du där efter eller en ett från få för ha hade han hans har henne hennes hon honom hur här i in inte jag kan kom kunde man med men mig min mitt mot mycket måste ni nu när någon något och också om oss på sedan sig sin sitt ska skulle som så till under upp ut utan vad var vara varför vi vid vill är över",  # noqa: E501
    "tr": "ama ancak aynı bana bazı ben beni benim bir biz bize bu bunu da daha de değil diye en et gibi hem hep her hiç ile ise için kadar kendi ki kim mi mu mü mı nasıl ne neden nerede o olan olarak oldu olduğu onlar onu onun sana sen seni senin siz sonra tüm var ve veya ya yok çok şey şimdi şu",  # noqa: E501
    "vi": "anh bạn bị các cái cho chúng có con của cũng cô đã đang để đi đến được em gì hay họ khi không là làm lại mà mình một này nhưng những nó ở ông phải ra rất sẽ ta thì tôi trong từ và vào về với",  # noqa: E501
}
# Letters that few of these languages use → the languages.
LETTERS = {
    "ß": "de", "ä": "de sv fi", "ö": "de sv fi hu tr", "ü": "de tr hu", "ñ": "es", "¿": "es", "¡": "es", "å": "sv da",
    "ø": "da", "æ": "da", "ã": "pt", "õ": "pt", "ç": "fr pt tr", "ê": "fr pt vi", "è": "fr it", "ù": "fr it", "ò": "it",
    "ì": "it", "œ": "fr", "û": "fr", "î": "fr ro", "ë": "nl fr", "ł": "pl", "ą": "pl", "ę": "pl", "ś": "pl", "ż": "pl",
    "ź": "pl", "ć": "pl", "ń": "pl", "ř": "cs", "ů": "cs", "ě": "cs", "č": "cs", "š": "cs", "ž": "cs", "ý": "cs",
    "ă": "ro vi", "ș": "ro", "ț": "ro", "ş": "tr ro", "ğ": "tr", "ı": "tr", "ő": "hu", "ű": "hu", "đ": "vi", "ơ": "vi",
    "ư": "vi",
}  # fmt: skip
# Frequent endings of words → their languages.
ENDINGS = {
    "ing": "en", "ly": "en", "tion": "en fr", "ness": "en", "ung": "de", "lich": "de", "isch": "de", "keit": "de",
    "heit": "de", "schen": "de", "chen": "de", "ción": "es", "dad": "es", "mente": "es it pt", "ando": "es it pt",
    "zione": "it", "gli": "it", "ção": "pt", "ões": "pt", "eux": "fr", "ment": "fr", "ait": "fr", "ais": "fr",
    "lijk": "nl", "heid": "nl", "tje": "nl", "ować": "pl", "ość": "pl", "ych": "pl cs", "lar": "tr", "ler": "tr",
    "yor": "tr", "ssa": "fi", "ssä": "fi", "lla": "fi", "een": "fi nl",
}  # fmt: skip
# Scripts and their characters. Most scripts identify a language. Latin, Cyrillic and Arabic text needs further tests.
SCRIPTS = (
    ("ja", "\u3041-\u30ff\uff66-\uff9f"),
    ("ko", "\uac00-\ud7a3\u1100-\u11ff\u3131-\u318e"),
    ("zh", "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"),
    ("cyrillic", "\u0400-\u04ff"),
    ("arabic", "\u0620-\u06ff"),
    ("he", "\u05d0-\u05ea"),
    ("el", "\u0370-\u03ff\u1f00-\u1fff"),
    ("hi", "\u0900-\u097f"),
    ("th", "\u0e00-\u0e7f"),
    ("latin", "A-Za-z\u00c0-\u024f\u1e00-\u1eff"),
)
LANGUAGES = (*sorted(FREQUENT), "ar", "el", "fa", "he", "hi", "ja", "ko", "ru", "th", "uk", "zh")
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]*)?")
MAX_WORDS = 400  # maximum number of words read, because one page is enough
LETTER_WEIGHT = 1.0  # votes of a letter, relative to a frequent word
ENDING_WEIGHT = 0.4  # votes of an ending, relative to a frequent word
MIN_STEM_LETTERS = 3  # minimum number of letters before an ending
MIN_WORDS = 2  # a single word may be a name, or exist in several languages
MIN_VOTE = 0.9  # minimum number of votes: one unambiguous word
MIN_VOTE_PER_WORD = 0.12  # minimum number of votes per word; names and foreign words get no votes
MIN_LEAD = 1.5  # minimum ratio to the votes of the second language
MIN_KANA_SHARE = 0.1  # minimum share of kana in Japanese text; Chinese text may quote some


def identify(text: str) -> str | None:
    """Return the two-letter code of a text's language, or None if it is too short, mixed or in an unknown language."""
    text = unicodedata.normalize("NFC", text[:20_000])
    counts = Counter({name: len(pattern.findall(text)) for name, pattern in _compile_scripts().items()})
    cjk_count = counts["ja"] + counts["zh"]
    if cjk_count:
        name = "ja" if counts["ja"] >= MIN_KANA_SHARE * cjk_count else "zh"
        counts["ja"] = counts["zh"] = 0
        counts[name] = 3 * cjk_count  # one character counts as much as three letters
    script, highest = counts.most_common(1)[0]
    if not highest or 2 * highest < sum(counts.values()) or (highest == sum(counts.values()) < 2):
        return None
    if script == "latin":
        return _vote_by_words(text)
    if script == "cyrillic":
        return "uk" if re.search("[іїєґІЇЄҐ]", text) else "ru"
    if script == "arabic":
        return "fa" if re.search("[پچژگی]", text) else "ar"
    return script


def _vote_by_words(text: str) -> str | None:
    words = [word.group().lower().replace("’", "'") for word in WORD.finditer(text)][:MAX_WORDS]
    if len(words) < MIN_WORDS:
        return None
    votes: defaultdict[str, float] = defaultdict(float)
    for word in words:
        for language in (languages := _map_words_to_languages().get(word, ())):
            votes[language] += 1 / len(languages)
        for letter in set(word) & LETTERS.keys():
            candidates = LETTERS[letter].split()
            for language in candidates:
                votes[language] += LETTER_WEIGHT / len(candidates)
        for size in (5, 4, 3, 2):
            if len(word) >= size + MIN_STEM_LETTERS and (ending := word[-size:]) in ENDINGS:
                candidates = ENDINGS[ending].split()
                for language in candidates:
                    votes[language] += ENDING_WEIGHT / len(candidates)
                break
    for mark in "¿¡":
        votes["es"] += mark in text
    if not votes:
        return None
    (highest, language), (second_highest, _), *_ = sorted(
        [*((count, code) for code, count in votes.items()), (0.0, "")], reverse=True
    )
    if highest < max(MIN_VOTE, MIN_VOTE_PER_WORD * len(words)) or highest < MIN_LEAD * second_highest:
        return None
    return language


@cache
def _compile_scripts() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(f"[{letters}]") for name, letters in SCRIPTS}


@cache
def _map_words_to_languages() -> dict[str, tuple[str, ...]]:
    results: dict[str, list[str]] = {}
    for language, words in FREQUENT.items():
        for word in set(words.split()):
            results.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in results.items()}
