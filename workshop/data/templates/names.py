"""Names of people, towns, streets and countries: copied, translated, or transcribed between scripts."""

from __future__ import annotations

from random import Random

from workshop.data.templates.frames import Draw, Languages, Value, pick_from, read_table, read_words

GIVEN = read_words(
    """
    Anna Peter Julia Markus Sabine Thomas Petra Stefan Claudia Andreas Monika Jürgen Ursula Klaus Renate
    Wolfgang Helga Dieter Ingrid Uwe Birgit Frank Heike Jens Silke Torsten Anja Sven Katrin Lars Nadine Tobias
    Sandra Florian Lena Jonas Mia Leon Emma Paul Hannah Finn Leonie Felix Sophie Maximilian Clara Moritz Greta
    Anton Frieda Emil Ida Oskar Matthias Ulrike Bernd Gisela Günter Ute Rüdiger Bärbel Jörg Käthe Götz Björn
    Söhnke Tom Mary John Alice David Sarah Michael Emily James Olivia Robert Linda Jack Kate Daniel Laura Chris
    Megan Ben Susan George Helen Oliver Grace Henry Ruth Samuel Nancy Ryan Brenda Kevin Tracy Brian Denise Luis
    Carmen Pedro Elena Marco Giulia Luca Chiara Pierre Camille Jean Sylvie Ahmet Ayşe Mehmet Fatma Emre Zeynep
    Olga Igor Natascha Dmitri Agnieszka Piotr Katarzyna Marek Yuki Kenji Haruka Hiroshi Priya Arjun Aisha Omar
    Leyla Karim Fatima Hassan Amina Kwame Ngozi Chloé Zoë Søren Åsa Jiří Eszter László Mirjam Noah Elias Ella
    Luisa Niklas Jana Simon Vera Hugo Nora Till Merle Arne Wiebke Kai Maike Jannik
    """
)
SURNAMES = read_words(
    """
    Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer Koch Bauer Richter Klein
    Wolf Schröder Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Schmitt Werner Krause Lehmann
    Köhler Maier König Walter Huber Kaiser Fuchs Peters Lang Scholz Möller Weiß Jung Hahn Schubert Vogel
    Friedrich Keller Günther Frank Berger Winkler Roth Beck Lorenz Baumann Franke Albrecht Schuster Simon Ludwig
    Böhm Winter Kraus Martin Schumacher Krämer Vogt Stein Jäger Otto Sommer Groß Seidel Heinrich Brandt Haas
    Schreiber Graf Dietrich Ziegler Kuhn Kühn Pohl Engel Horn Busch Bergmann Thomas Voigt Sauer Arnold Wolff
    Pfeiffer Smith Johnson Williams Brown Jones Miller Davis Wilson Taylor Clark Lewis Walker Hall Young King
    Wright Hill Green Baker Carter Evans Turner Parker Collins Cook Morgan Murphy Cooper Reed Kelly Howard Ward
    Watson Brooks Yılmaz Kaya Demir Öztürk Nowak Kowalski Novák Horváth Rossi Ferrari Bianchi García López
    Fernández Silva Santos Dubois Moreau Lefèvre Popov Ivanova Tanaka Suzuki Yamamoto Kim Park Nguyen Patel
    Singh Hassan Haddad Okafor Mensah Jensen Larsen Nilsson Virtanen
    """
)
FIRST_PARTS = read_words(
    """
    Wald Stein Berg Feld Brunn Eich Linden Buch Hirsch Wolf Rosen Sonnen Gold Silber Eisen Winter Sommer Ober
    Unter Nieder Alten Neuen Hohen Breiten Lang Kurz Weiden Erlen Mühl Kirch Bach Forst Heide Moor Sand Hasel
    Birken Adler Falken
    """
)
SURNAME_ENDS = read_words(
    """
    meier huber berger bauer müller mann hofer schmied bach reiter wein thal brandt hauer egger stätter
    """
)
TOWN_ENDS = read_words(
    """
    hausen dorf stadt heim burg bach felden rode kirchen ingen walde münde brück stetten weiler
    """
)
STREET_ENDS = read_words(
    """
    straße weg allee gasse platz
    """
)

# Foreign names with their usual Chinese transcription.
TRANSCRIBED = read_table(
    """
    Tom | Tom | 汤姆
    Mary | Mary | 玛丽
    John | John | 约翰
    Anna | Anna | 安娜
    David | David | 大卫
    Peter | Peter | 彼得
    Alice | Alice | 爱丽丝
    Jack | Jack | 杰克
    Lucy | Lucy | 露西
    Michael | Michael | 迈克尔
    Robert | Robert | 罗伯特
    Linda | Linda | 琳达
    Susan | Susan | 苏珊
    James | James | 詹姆斯
    Emma | Emma | 艾玛
    Paul | Paul | 保罗
    Maria | Maria | 玛丽亚
    Thomas | Thomas | 托马斯
    Julia | Julia | 朱莉娅
    Martin | Martin | 马丁
    Helen | Helen | 海伦
    Henry | Henry | 亨利
    Daniel | Daniel | 丹尼尔
    Sophie | Sophie | 苏菲
    Simon | Simon | 西蒙
    Laura | Laura | 劳拉
    Frank | Frank | 弗兰克
    Nancy | Nancy | 南希
    Kevin | Kevin | 凯文
    Emily | Emily | 艾米丽
    George | George | 乔治
    Jim | Jim | 吉姆
    Bob | Bob | 鲍勃
    Alex | Alex | 亚历克斯
    """
)
HAN_SURNAMES = read_words(
    """
    王Wang 李Li 张Zhang 刘Liu 陈Chen 杨Yang 赵Zhao 黄Huang 周Zhou 吴Wu 徐Xu 孙Sun 胡Hu 朱Zhu 高Gao 林Lin
    何He 郭Guo 马Ma 罗Luo 梁Liang 宋Song 郑Zheng 谢Xie 韩Han 唐Tang 冯Feng 于Yu 董Dong 萧Xiao 程Cheng
    曹Cao 袁Yuan 邓Deng 许Xu 傅Fu 沈Shen 曾Zeng 彭Peng 吕Lü 苏Su 卢Lu 蒋Jiang 蔡Cai 贾Jia 丁Ding 魏Wei
    薛Xue 叶Ye 阎Yan 余Yu 潘Pan 杜Du 戴Dai 夏Xia 钟Zhong 汪Wang 田Tian 任Ren 姜Jiang 范Fan 方Fang 石Shi
    姚Yao 谭Tan 廖Liao 邹Zou 熊Xiong 金Jin 陆Lu 孔Kong 白Bai 崔Cui 康Kang 毛Mao 邱Qiu 秦Qin 江Jiang 史Shi
    顾Gu 侯Hou 邵Shao 孟Meng 龙Long 万Wan 段Duan 钱Qian 汤Tang 黎Li 常Chang 武Wu 乔Qiao 贺He 赖Lai 文Wen
    """
)
HAN_GIVEN = read_words(
    """
    明ming 伟wei 芳fang 娜na 敏min 静jing 丽li 强qiang 磊lei 军jun 洋yang 勇yong 艳yan 杰jie 娟juan 涛tao
    超chao 秀xiu 霞xia 平ping 刚gang 桂gui 华hua 红hong 英ying 梅mei 文wen 玉yu 兰lan 小xiao 大da 志zhi
    建jian 国guo 春chun 雪xue 梦meng 佳jia 欣xin 怡yi 晨chen 宇yu 浩hao 轩xuan 子zi 涵han 思si 雨yu 婷ting
    慧hui 丹dan 萍ping 鹏peng 飞fei 辉hui 斌bin 波bo 海hai 山shan 松song 林lin 峰feng 云yun 月yue 阳yang
    天tian 龙long 凤feng 琳lin 瑶yao 莉li 倩qian 颖ying 璐lu 瑞rui 博bo 凯kai 俊jun 嘉jia 诗shi 琪qi 安an
    宁ning 一yi 可ke 心xin 爱ai 晓xiao 东dong 亮liang 成cheng 永yong 福fu 德de 义yi 庆qing 翔xiang 鑫xin
    淑shu 珍zhen 珠zhu 清qing 美mei 双shuang 立li 新xin 光guang 世shi 家jia
    """
)

CITIES = read_table(
    """
    Berlin | Berlin | 柏林
    München | Munich | 慕尼黑
    Hamburg | Hamburg | 汉堡
    Köln | Cologne | 科隆
    Frankfurt | Frankfurt | 法兰克福
    Wien | Vienna | 维也纳
    Zürich | Zurich | 苏黎世
    Genf | Geneva | 日内瓦
    Paris | Paris | 巴黎
    London | London | 伦敦
    Rom | Rome | 罗马
    Mailand | Milan | 米兰
    Venedig | Venice | 威尼斯
    Florenz | Florence | 佛罗伦萨
    Neapel | Naples | 那不勒斯
    Madrid | Madrid | 马德里
    Barcelona | Barcelona | 巴塞罗那
    Lissabon | Lisbon | 里斯本
    Brüssel | Brussels | 布鲁塞尔
    Kopenhagen | Copenhagen | 哥本哈根
    Stockholm | Stockholm | 斯德哥尔摩
    Oslo | Oslo | 奥斯陆
    Helsinki | Helsinki | 赫尔辛基
    Warschau | Warsaw | 华沙
    Prag | Prague | 布拉格
    Budapest | Budapest | 布达佩斯
    Athen | Athens | 雅典
    Istanbul | Istanbul | 伊斯坦布尔
    Moskau | Moscow | 莫斯科
    Kiew | Kyiv // Kiev | 基辅
    Tokio | Tokyo | 东京
    Peking | Beijing | 北京
    Shanghai | Shanghai | 上海
    Guangzhou | Guangzhou | 广州
    Shenzhen | Shenzhen | 深圳
    Nanjing | Nanjing | 南京
    Hangzhou | Hangzhou | 杭州
    Chengdu | Chengdu | 成都
    Wuhan | Wuhan | 武汉
    Xi'an | Xi'an | 西安
    Suzhou | Suzhou | 苏州
    Tianjin | Tianjin | 天津
    Chongqing | Chongqing | 重庆
    Qingdao | Qingdao | 青岛
    Dalian | Dalian | 大连
    Harbin | Harbin | 哈尔滨
    Kunming | Kunming | 昆明
    Xiamen | Xiamen | 厦门
    Changsha | Changsha | 长沙
    Jinan | Jinan | 济南
    Zhengzhou | Zhengzhou | 郑州
    Shenyang | Shenyang | 沈阳
    Guilin | Guilin | 桂林
    Taipeh | Taipei | 台北
    Hongkong | Hong Kong | 香港
    Singapur | Singapore | 新加坡
    Seoul | Seoul | 首尔
    Bangkok | Bangkok | 曼谷
    Neu-Delhi | New Delhi | 新德里
    Kairo | Cairo | 开罗
    Sydney | Sydney | 悉尼
    New York | New York | 纽约
    Chicago | Chicago | 芝加哥
    Boston | Boston | 波士顿
    Los Angeles | Los Angeles | 洛杉矶
    San Francisco | San Francisco | 旧金山
    Toronto | Toronto | 多伦多
    Hannover | Hanover | 汉诺威
    Nürnberg | Nuremberg | 纽伦堡
    Leipzig | Leipzig | 莱比锡
    Dresden | Dresden | 德累斯顿
    Stuttgart | Stuttgart | 斯图加特
    Bremen | Bremen | 不来梅
    Düsseldorf | Düsseldorf | 杜塞尔多夫
    Heidelberg | Heidelberg | 海德堡
    """
)
COUNTRIES = read_table(
    """
    Deutschland | Germany | 德国
    Frankreich | France | 法国
    Italien | Italy | 意大利
    Spanien | Spain | 西班牙
    Portugal | Portugal | 葡萄牙
    England | England | 英国
    Irland | Ireland | 爱尔兰
    Österreich | Austria | 奥地利
    Polen | Poland | 波兰
    Tschechien | the Czech Republic | 捷克
    Ungarn | Hungary | 匈牙利
    Griechenland | Greece | 希腊
    Schweden | Sweden | 瑞典
    Norwegen | Norway | 挪威
    Dänemark | Denmark | 丹麦
    Finnland | Finland | 芬兰
    Russland | Russia | 俄罗斯
    Japan | Japan | 日本
    China | China | 中国
    Südkorea | South Korea | 韩国
    Indien | India | 印度
    Ägypten | Egypt | 埃及
    Brasilien | Brazil | 巴西
    Argentinien | Argentina | 阿根廷
    Mexiko | Mexico | 墨西哥
    Kanada | Canada | 加拿大
    Australien | Australia | 澳大利亚
    Neuseeland | New Zealand | 新西兰
    Südafrika | South Africa | 南非
    Marokko | Morocco | 摩洛哥
    Vietnam | Vietnam | 越南
    Thailand | Thailand | 泰国
    Belgien | Belgium | 比利时
    Kroatien | Croatia | 克罗地亚
    """
)


def _same_in_both(name: str) -> Value:
    return {"de": (name,), "en": (name,)}


def _han(random: Random, *, whole: bool) -> Value:
    """Draw a Chinese name with its pinyin. Without `whole`, draw only the surname."""
    surname = random.choice(HAN_SURNAMES)
    syllables = random.sample(HAN_GIVEN, random.choice((1, 2, 2, 2))) if whole else []
    characters, pinyin = (
        surname[0] + "".join(part[0] for part in syllables),
        "".join(part[1:] for part in syllables).capitalize(),
    )
    latin = f"{surname[1:]} {pinyin}".strip()
    return {"de": (latin,), "en": (latin,), "zh": (characters,)}


def first_name(random: Random, languages: Languages) -> Value:
    """Draw a first name."""
    if "zh" in languages:
        return random.choice(TRANSCRIBED)
    return _same_in_both(random.choice(GIVEN))


def surname(random: Random, languages: Languages) -> Value:
    """Draw a surname: Chinese if Chinese is one of the languages, else from a list or, for variety, of two parts."""
    if "zh" in languages:
        return _han(random, whole=False)
    if random.random() < 0.5:
        return _same_in_both(random.choice(FIRST_PARTS) + random.choice(SURNAME_ENDS))
    return _same_in_both(random.choice(SURNAMES))


def full(random: Random, languages: Languages) -> Value:
    """Draw a full name. Translations into Chinese have no full Chinese names, because pinyin is ambiguous."""
    if languages[1] == "zh":
        return random.choice(TRANSCRIBED)
    if "zh" in languages:
        return _han(random, whole=True) if random.random() < 0.8 else random.choice(TRANSCRIBED)
    if random.random() < 0.1:
        return _han(random, whole=True)
    return _same_in_both(f"{random.choice(GIVEN)} {surname(random, languages)['en'][0]}")


def town(random: Random, languages: Languages) -> Value:
    """Draw a city, or a German town that may not exist."""
    if "zh" in languages or random.random() < 0.5:
        return random.choice(CITIES)
    return _same_in_both(random.choice(FIRST_PARTS) + random.choice(TOWN_ENDS))


def street(random: Random, languages: Languages) -> Value:
    """Draw a German street name with a house number."""
    stem = random.choice(
        (*FIRST_PARTS, *SURNAMES[:60], "Goethe", "Schiller", "Beethoven", "Bahnhof", "Garten", "Haupt")
    )
    name = f"{stem}{random.choice(STREET_ENDS)} {random.randint(1, 199)}{random.choice(('', '', '', 'a', 'b'))}"
    return _same_in_both(name)


SLOTS: dict[str, Draw] = {
    "given": first_name,
    "surname": surname,
    "name": full,
    "town": town,
    "street": street,
    "country": pick_from(COUNTRIES),
}
