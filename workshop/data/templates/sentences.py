"""Frames with times, dates, numbers, amounts and names. Columns: German, English, Chinese.

`//` separates forms with the same meaning; the first is the target of a translation. `-` marks a language without a
form, because the other languages do not determine one.
"""

from __future__ import annotations

from workshop.data.templates.frames import Draw, FrameGroup, pick_from, read_frames, read_table

PEOPLE = read_table(
    """
    meine Mutter | my mother | 我妈妈 // 我母亲
    mein Vater | my father | 我爸爸 // 我父亲
    mein Bruder | my brother | -
    meine Schwester | my sister | -
    meine Großmutter | my grandmother | -
    meine Tochter | my daughter | 我女儿
    mein Sohn | my son | 我儿子
    unser Nachbar | our neighbor // our neighbour | 我们的邻居
    der Arzt | the doctor | 医生
    der Lehrer | the teacher | 老师
    meine Freundin Anna | my friend Anna | -
    mein Freund Paul | my friend Paul | -
    mein Onkel | my uncle | -
    meine Tante | my aunt | -
    der alte Mann | the old man | 那个老人
    die junge Frau | the young woman | 那个年轻女人
    er | he | 他
    sie | she | 她
    """
)
EVENTS = read_table(
    """
    der Film | the movie // the film | 电影
    das Konzert | the concert | 音乐会
    der Kurs | the course | 课程
    das Spiel | the game | 比赛
    die Besprechung | the meeting | 会议
    die Prüfung | the exam | 考试
    das Theaterstück | the play | -
    die Vorlesung | the lecture | 讲座
    die Führung | the tour | -
    die Ausstellung | the exhibition | 展览
    """
)
VEHICLES = read_table(
    """
    der Zug | the train | 火车
    der Bus | the bus | 公共汽车 // 公交车
    das Schiff | the ship | 船
    die Fähre | the ferry | 渡轮
    das Flugzeug | the plane | 飞机
    unser Zug | our train | 我们的火车
    der nächste Bus | the next bus | 下一班公共汽车
    der letzte Zug | the last train | 最后一班火车
    """
)
SHOPS = read_table(
    """
    das Museum | the museum | 博物馆
    die Bäckerei | the bakery | 面包店
    die Bank | the bank | 银行
    die Apotheke | the pharmacy | 药店
    der Supermarkt | the supermarket | 超市
    das Geschäft // der Laden | the store // the shop | 商店
    das Restaurant | the restaurant | 餐厅 // 饭馆
    die Bibliothek // die Bücherei | the library | 图书馆
    das Schwimmbad | the swimming pool | 游泳池
    die Post | the post office | 邮局
    """
)
GOODS = read_table(
    """
    das Buch | the book | 这本书
    der Stuhl | the chair | 这把椅子
    das Fahrrad | the bicycle // the bike | 这辆自行车
    die Karte // das Ticket | the ticket | 这张票
    das Hemd | the shirt | 这件衬衫
    die Uhr | the watch | 这块手表
    der Koffer | the suitcase | 这个手提箱
    das Zimmer | the room | 这个房间
    die Tasche | the bag | 这个包
    """
)

TIMES = """
    {time} | {time} | {time}
    um {time} | at {time} | -
    Es ist {time}. | It's {time}. // It is {time}. | 现在是{time}。 // 现在{time}。
    Es ist jetzt {time}. // Jetzt ist es {time}. | It's {time} now. // It is {time} now. // It is now {time}. | -
    Es ist schon {time}. | It's already {time}. // It is already {time}. | 已经{time}了。
    Es war {time}, als das Telefon klingelte. | It was {time} when the phone rang. // It was {time} when the telephone rang. | 电话响的时候是{time}。
    Wir treffen uns um {time}. | We're meeting at {time}. // We are meeting at {time}. | 我们{time}见面。
    Treffen wir uns um {time}! // Treffen wir uns um {time}. | Let's meet at {time}. | 我们{time}见面吧。 // 咱们{time}见吧。
    Ich stehe um {time} auf. | I get up at {time}. | 我{time}起床。
    Ich stehe jeden Tag um {time} auf. | I get up at {time} every day. // Every day I get up at {time}. | 我每天{time}起床。
    Um {time} gehe ich ins Bett. // Ich gehe um {time} ins Bett. | I go to bed at {time}. | 我{time}睡觉。
    Wir essen um {time}. | We eat at {time}. | 我们{time}吃饭。
    {person} kommt um {time}. | {person} is coming at {time}. | -
    {person} kommt um {time} nach Hause. | {person} comes home at {time}. | {person}{time}回家。
    {person} ist um {time} angekommen. // {person} kam um {time} an. | {person} arrived at {time}. | {person}{time}到了。 // {person}是{time}到的。
    {event} beginnt um {time}. // {event} fängt um {time} an. | {event} starts at {time}. // {event} begins at {time}. | {event}{time}开始。
    {event} endet um {time}. // {event} ist um {time} zu Ende. | {event} ends at {time}. | {event}{time}结束。
    {event} dauert von {time} bis {time2}. | {event} lasts from {time} to {time2}. | {event}从{time}到{time2}。
    {vehicle} fährt um {time} ab. | {vehicle} leaves at {time}. // {vehicle} departs at {time}. | {vehicle}{time}出发。
    {vehicle} kommt um {time} an. | {vehicle} arrives at {time}. | {vehicle}{time}到达。
    {shop} öffnet um {time}. // {shop} macht um {time} auf. | {shop} opens at {time}. | {shop}{time}开门。
    {shop} schließt um {time}. // {shop} macht um {time} zu. | {shop} closes at {time}. | {shop}{time}关门。
    {shop} ist von {time} bis {time2} geöffnet. // {shop} hat von {time} bis {time2} geöffnet. | {shop} is open from {time} to {time2}. // {shop} is open from {time} until {time2}. | {shop}从{time}开到{time2}。
    Bitte wecken Sie mich um {time}. // Bitte weck mich um {time}. | Please wake me up at {time}. // Please wake me at {time}. | 请{time}叫醒我。
    Der Wecker klingelt um {time}. | The alarm clock rings at {time}. | 闹钟{time}响。
    Mein Flug geht um {time}. | My flight leaves at {time}. | 我的航班{time}起飞。
    Ich muss um {time} am Bahnhof sein. | I have to be at the station at {time}. // I must be at the station at {time}. | 我{time}必须到车站。
    Ich muss vor {time} zu Hause sein. | I have to be home before {time}. // I have to be at home before {time}. | 我{time}之前必须到家。
    Ich habe bis {time} geschlafen. | I slept until {time}. // I slept till {time}. | 我睡到{time}。
    Wir haben bis {time} gearbeitet. | We worked until {time}. | 我们工作到{time}。
    Ich bin seit {time} wach. | I've been awake since {time}. // I have been awake since {time}. | -
    Als ich um {time} aufwachte, regnete es. | When I woke up at {time}, it was raining. | 我{time}醒来的时候正在下雨。
    Wir fahren um {time} los, wenn es nicht regnet. | We'll leave at {time} if it doesn't rain. // We will leave at {time} if it does not rain. | 如果不下雨，我们{time}出发。
    Der Arzt hat um {time} Zeit. | The doctor has time at {time}. | 医生{time}有空。
    Ist {shop} um {time} offen? | Is {shop} open at {time}? | {shop}{time}开门吗？
    Um wie viel Uhr fährt der Zug, um {time} oder um {time2}? | What time does the train leave, at {time} or at {time2}? | 火车几点出发，{time}还是{time2}？
"""
DATES = """
    Ich habe am {date} Geburtstag. // Am {date} habe ich Geburtstag. // Mein Geburtstag ist am {date}. | My birthday is on {date}. | 我的生日是{date}。
    Wir fahren am {date} ab. // Am {date} fahren wir ab. | We're leaving on {date}. // We are leaving on {date}. | 我们{date}出发。
    {person} wurde am {date} geboren. // {person} ist am {date} geboren. | {person} was born on {date}. | {person}{date}出生。 // {person}出生于{date}。
    {person} ist am {date} gestorben. // {person} starb am {date}. | {person} died on {date}. | {person}{date}去世了。
    {event} findet am {date} statt. | {event} takes place on {date}. | {event}{date}举行。
    {event} ist am {date} um {time}. | {event} is on {date} at {time}. | {event}在{date}{time}。
    Am {date} ist {shop} geschlossen. // {shop} ist am {date} geschlossen. | {shop} is closed on {date}. | {shop}{date}关门。
    {shop} wurde am {date} eröffnet. | {shop} opened on {date}. // {shop} was opened on {date}. | {shop}是{date}开业的。
    Bitte antworten Sie bis zum {date}. | Please answer by {date}. // Please reply by {date}. | 请在{date}之前回复。
    Sie haben am {date} geheiratet. | They got married on {date}. | 他们{date}结婚了。 // 他们是{date}结婚的。
    Das Treffen ist am {weekday_date}. | The meeting is on {weekday_date}. | 会议在{weekday_date}。
    Am {weekday_date} habe ich keine Zeit. // Ich habe am {weekday_date} keine Zeit. | I don't have time on {weekday_date}. // I have no time on {weekday_date}. | 我{weekday_date}没有时间。
    {person} kommt am {weekday_date} zurück. | {person} is coming back on {weekday_date}. | {person}{weekday_date}回来。
    Heute ist {weekday}. | Today is {weekday}. // It's {weekday} today. | 今天是{weekday}。 // 今天{weekday}。
    Morgen ist {weekday}. | Tomorrow is {weekday}. | 明天是{weekday}。 // 明天{weekday}。
    Gestern war {weekday}. | Yesterday was {weekday}. | 昨天是{weekday}。
    Am {weekday} arbeite ich nicht. // Ich arbeite am {weekday} nicht. | I don't work on {weekday}. // I do not work on {weekday}. | 我{weekday}不上班。
    Jeden {weekday} spielt {person} Tennis. // {person} spielt jeden {weekday} Tennis. | {person} plays tennis every {weekday}. // Every {weekday}, {person} plays tennis. | {person}每个{weekday}打网球。
    {shop} hat am {weekday} zu. // {shop} ist am {weekday} geschlossen. | {shop} is closed on {weekday}. | {shop}{weekday}关门。
    Wir fahren {next_weekday} nach {town}. // {next_weekday} fahren wir nach {town}. | We're going to {town} {next_weekday}. // We are going to {town} {next_weekday}. | 我们{next_weekday}去{town}。
    {person} ist {last_weekday} nach {town} gefahren. // {last_weekday} ist {person} nach {town} gefahren. | {person} went to {town} {last_weekday}. // {last_weekday} {person} went to {town}. | {person}{last_weekday}去了{town}。
    Wir sehen uns {part_of_weekday}. | We'll see each other {part_of_weekday}. // We will see each other {part_of_weekday}. | 我们{part_of_weekday}见。
    {part_of_weekday} gehe ich schwimmen. // Ich gehe {part_of_weekday} schwimmen. | I'm going swimming {part_of_weekday}. // I am going swimming {part_of_weekday}. | 我{part_of_weekday}去游泳。
    Vom {date} bis zum {date2} bin ich nicht da. // Ich bin vom {date} bis zum {date2} nicht da. | I'll be away from {date} to {date2}. // I will be away from {date} to {date2}. | 我从{date}到{date2}不在。
    {event} geht von {weekday} bis {weekday2}. // {event} dauert von {weekday} bis {weekday2}. | {event} lasts from {weekday} to {weekday2}. | {event}从{weekday}持续到{weekday2}。
    Im {month} ist es hier kalt. | It's cold here in {month}. // It is cold here in {month}. | 这里{month}很冷。
    Im {month} ziehen wir nach {town}. // Wir ziehen im {month} nach {town}. | We're moving to {town} in {month}. // We are moving to {town} in {month}. | 我们{month}搬到{town}。
    {person} hat im {month} Geburtstag. | {person} has a birthday in {month}. | -
    Der Kurs beginnt im {month} und endet im {month2}. | The course starts in {month} and ends in {month2}. | 课程{month}开始，{month2}结束。
    {person} wurde {year} geboren. // {person} wurde im Jahr {year} geboren. // {person} ist {year} geboren. | {person} was born in {year}. | {person}{year}年出生。 // {person}生于{year}年。
    Das Haus wurde {year} gebaut. // Das Haus wurde im Jahr {year} gebaut. | The house was built in {year}. | 这栋房子建于{year}年。
    Das Haus wurde {year_words} gebaut. // Das Haus wurde im Jahr {year_words} gebaut. | The house was built in {year_words}. | 这栋房子建于{year_words}年。
    Der Krieg dauerte von {year} bis {year2}. | The war lasted from {year} to {year2}. | 战争从{year}年持续到{year2}年。
    Seit {year} wohnen wir in {town}. // Wir wohnen seit {year} in {town}. | We have lived in {town} since {year}. // We've lived in {town} since {year}. | 我们从{year}年起住在{town}。
    {person} ist {year_words} nach {town} gezogen. | {person} moved to {town} in {year_words}. | {person}{year_words}年搬到了{town}。
    {name} wurde am {date} in {town} geboren. | {name} was born in {town} on {date}. // {name} was born on {date} in {town}. | {name}{date}出生在{town}。
    Das war am {date}. | That was on {date}. | 那是在{date}。
    {given} kommt am {weekday} um {time} in {town} an. | {given} arrives in {town} on {weekday} at {time}. | {given}{weekday}{time}到达{town}。
"""
AMOUNTS = """
    {good} kostet {price}. | {good} costs {price}. | {good}要{price}。 // {good}{price}。
    Das kostet {price}. // Es kostet {price}. | That costs {price}. // It costs {price}. | 这个要{price}。 // 这个{price}。
    Das macht {price}, bitte. // Das macht zusammen {price}, bitte. | That's {price}, please. // That will be {price}, please. | 一共{price}。
    {person} verdient {price} pro Stunde. // {person} verdient {price} in der Stunde. | {person} earns {price} an hour. // {person} earns {price} per hour. | {person}每小时挣{price}。
    Die Miete beträgt {price} im Monat. | The rent is {price} a month. // The rent is {price} per month. | 房租每个月{price}。 // 房租每月{price}。
    Kannst du mir {price} leihen? // Können Sie mir {price} leihen? | Can you lend me {price}? // Could you lend me {price}? | 你能借我{price}吗？
    Der Eintritt kostet {price}, für Kinder {price2}. | Admission is {price}, for children {price2}. | 门票{price}，儿童{price2}。
    Ich habe nur noch {price}. | I only have {price} left. // I have only {price} left. | 我只剩{price}了。
    Ich habe {things}. | I have {things}. | 我有{things}。
    Wir brauchen {things}. | We need {things}. | 我们需要{things}。
    {person} hat {things} gekauft. // {person} kaufte {things}. | {person} bought {things}. | {person}买了{things}。
    Es gibt hier {things}. // Hier gibt es {things}. | There are {things} here. | 这里有{things}。
    Ich sehe {things} und {things2}. | I see {things} and {things2}. | 我看见{things}和{things2}。
    In der Stadt gibt es {things}. | There are {things} in the city. | 城里有{things}。
    Ich habe {span} gewartet. // Ich wartete {span}. | I waited {span}. // I waited for {span}. | 我等了{span}。
    Die Reise dauert {span}. // Die Fahrt dauert {span}. | The trip takes {span}. // The journey takes {span}. | 旅行需要{span}。
    {person} hat {span} in {town} gelebt. // {person} lebte {span} in {town}. | {person} lived in {town} for {span}. // For {span}, {person} lived in {town}. | {person}在{town}住了{span}。
    {event} dauerte {span}. // {event} hat {span} gedauert. | {event} lasted {span}. | {event}持续了{span}。
    Der Zug hat {delay} Verspätung. | The train is {delay} late. | 火车晚点{delay}。
    {person} ist {age} Jahre alt. // {person} ist {age}. | {person} is {age} years old. // {person} is {age}. | {person}{age}岁。 // {person}今年{age}岁。
    Ich bin {age} Jahre alt. // Ich bin {age}. | I am {age} years old. // I'm {age} years old. // I'm {age}. | 我{age}岁。 // 我今年{age}岁。
    {given} wird morgen {age}. // Morgen wird {given} {age}. | {given} will be {age} tomorrow. // {given} turns {age} tomorrow. | {given}明天{age}岁。
    Die Stadt hat {number} Einwohner. | The city has {number} inhabitants. // The town has {number} inhabitants. | 这座城市有{number}个居民。
    {number} Menschen wohnen hier. // Hier wohnen {number} Menschen. | {number} people live here. | 这里住着{number}人。
    Es kamen {number_words} Menschen. // {number_words} Menschen kamen. | {number_words} people came. | 来了{number_words}人。
    Das Buch hat {small} Seiten. | The book has {small} pages. | 这本书有{small}页。
    Das Buch hat {number_words} Seiten. | The book has {number_words} pages. | 这本书有{number_words}页。
    Die Zahl ist {number_words}. | The number is {number_words}. | 这个数是{number_words}。
    Die Antwort ist {decimal}. | The answer is {decimal}. | 答案是{decimal}。
    {sum}. | {sum}. | {sum}。
    {product}. | {product}. | {product}。
    {number_words} | {number_words} | {number_words}
    {things} | {things} | {things}
    Zählen Sie bis {number_words}. // Zähl bis {number_words}. | Count to {number_words}. // Count up to {number_words}. | 数到{number_words}。
    Bis {town} sind es noch {distance}. | It's another {distance} to {town}. // It is another {distance} to {town}. | 到{town}还有{distance}。
    {town} liegt {distance} von hier. // {town} ist {distance} von hier entfernt. | {town} is {distance} from here. // {town} is {distance} away from here. | {town}离这里{distance}。
    Das Paket wiegt {weight}. | The package weighs {weight}. // The parcel weighs {weight}. | 这个包裹重{weight}。
    Das Paket wiegt {weight_symbol}. | The package weighs {weight_symbol}. // The parcel weighs {weight_symbol}. | 这个包裹重{weight_symbol}。
    Der Tisch ist {height} lang. | The table is {height} long. | 这张桌子长{height}。
    Wir brauchen {volume} Milch. | We need {volume} of milk. | 我们需要{volume}牛奶。
    Der Turm ist {height} hoch. | The tower is {height} tall. // The tower is {height} high. | 这座塔高{height}。
    Die Strecke ist {distance_symbol} lang. | The route is {distance_symbol} long. | 这条路线长{distance_symbol}。
    Heute sind es {degrees}. // Es sind heute {degrees}. | It's {degrees} today. // It is {degrees} today. | 今天{degrees}。
    Draußen sind es {degrees}. // Es sind {degrees} draußen. | It's {degrees} outside. // It is {degrees} outside. | 外面{degrees}。
    In {town} sind es {degrees}. | It's {degrees} in {town}. // It is {degrees} in {town}. | {town}{degrees}。
    Nachts waren es {degrees}. | It was {degrees} at night. | 夜里{degrees}。
    {share} der Schüler haben bestanden. | {share} of the students passed. | {share}的学生通过了。
    Die Preise sind um {share} gestiegen. | Prices have risen by {share}. // Prices rose by {share}. | 价格上涨了{share}。
    Sie bekommen {share} Rabatt. // Du bekommst {share} Rabatt. | You get a {share} discount. // You get {share} off. | -
    Der Akku ist noch zu {share} voll. | The battery is still {share} full. | 电池还有{share}的电。
    Meine Telefonnummer ist {telephone}. // Meine Nummer ist {telephone}. | My phone number is {telephone}. // My number is {telephone}. // My telephone number is {telephone}. | 我的电话号码是{telephone}。 // 我的号码是{telephone}。
    Rufen Sie mich unter {telephone} an. // Ruf mich unter {telephone} an. | Call me at {telephone}. // Call me on {telephone}. | 请打{telephone}给我。
    Seine Nummer ist {telephone}, nicht {telephone2}. | His number is {telephone}, not {telephone2}. | 他的号码是{telephone}，不是{telephone2}。
    Der Zug fährt von Gleis {small}. // Der Zug fährt von Gleis {small} ab. | The train leaves from platform {small}. // The train departs from platform {small}. | 火车从{small}号站台出发。
    Ich wohne in Zimmer {small}. // Ich bin in Zimmer {small}. | I'm in room {small}. // I am in room {small}. | 我住在{small}号房间。
    Nehmen Sie den Bus Nummer {small}. // Nimm den Bus Nummer {small}. | Take bus number {small}. // Take the number {small} bus. | 请坐{small}路公共汽车。 // 坐{small}路公交车。
    Bitte lesen Sie Seite {small}. // Lies bitte Seite {small}. | Please read page {small}. | 请读第{small}页。
    Schlagt das Buch auf Seite {small} auf. // Schlagen Sie das Buch auf Seite {small} auf. | Open the book to page {small}. // Open your books to page {small}. | 请把书翻到第{small}页。
    Unser Sitz hat die Nummer {small}. | Our seat is number {small}. | 我们的座位是{small}号。
    Das Spiel endete {small} zu {small2}. | The game ended {small} to {small2}. | 比赛以{small}比{small2}结束。
"""
NAMES = """
    Ich heiße {given}. // Mein Name ist {given}. | My name is {given}. // My name's {given}. | 我叫{given}。 // 我的名字叫{given}。
    Ich heiße {name}. // Mein Name ist {name}. | My name is {name}. // My name's {name}. | 我叫{name}。 // 我的名字是{name}。
    Ich bin {given} und komme aus {town}. | I'm {given} and I'm from {town}. // I am {given} and I come from {town}. | 我是{given}，来自{town}。
    Das ist {name}. | This is {name}. // That is {name}. // That's {name}. | 这是{name}。
    Das sind {given} und {given2}. | These are {given} and {given2}. | 这是{given}和{given2}。
    {given} ist ein guter Mensch. | {given} is a good person. | {given}是个好人。
    Kennst du {name}? // Kennen Sie {name}? // Kennt ihr {name}? | Do you know {name}? | 你认识{name}吗？ // 您认识{name}吗？
    Wo wohnt {name}? | Where does {name} live? | {name}住在哪里？ // {name}住在哪儿？
    {name} wohnt in {town}. // {name} lebt in {town}. | {name} lives in {town}. | {name}住在{town}。
    {given} und {given2} sind Freunde. | {given} and {given2} are friends. | {given}和{given2}是朋友。
    {given} ist älter als {given2}. | {given} is older than {given2}. | {given}比{given2}大。
    {given} ist größer als {given2}. | {given} is taller than {given2}. | {given}比{given2}高。
    {given} hat {given2} ein Buch gegeben. // {given} gab {given2} ein Buch. | {given} gave {given2} a book. | {given}给了{given2}一本书。
    {given} liebt {given2}. | {given} loves {given2}. | {given}爱{given2}。
    {given} wartet auf {given2}. | {given} is waiting for {given2}. | {given}在等{given2}。
    {given} hat gesagt, dass {given2} krank ist. // {given} sagte, dass {given2} krank sei. | {given} said that {given2} is sick. // {given} said that {given2} is ill. | {given}说{given2}病了。
    Ich habe gestern {name} getroffen. // Gestern habe ich {name} getroffen. | I met {name} yesterday. // Yesterday I met {name}. | 我昨天见到了{name}。 // 昨天我见到了{name}。
    Ich bin mit {name} nach {town} gefahren. // Ich fuhr mit {name} nach {town}. | I went to {town} with {name}. | 我和{name}去了{town}。 // 我和{name}一起去了{town}。
    Rufen Sie bitte {name} an. // Ruf bitte {name} an. | Please call {name}. | 请给{name}打电话。
    Herr {surname} ist nicht da. // Herr {surname} ist nicht hier. | Mr. {surname} is not here. // Mr. {surname} isn't here. // Mr {surname} is not here. | {surname}先生不在。
    Guten Morgen, Frau {surname}! // Guten Morgen, Frau {surname}. | Good morning, Ms. {surname}! // Good morning, Mrs. {surname}! // Good morning, Ms {surname}. | {surname}女士，早上好！ // 早上好，{surname}女士！
    Guten Tag, Herr {surname}! // Guten Tag, Herr {surname}. | Hello, Mr. {surname}! // Hello, Mr. {surname}. | {surname}先生，您好！ // 您好，{surname}先生！
    Frau {surname} kommt am {weekday} zurück. | Ms. {surname} is coming back on {weekday}. // Mrs. {surname} is coming back on {weekday}. | {surname}女士{weekday}回来。
    Herr {surname} wartet im Büro auf Frau {surname2}. | Mr. {surname} is waiting for Ms. {surname2} in the office. // Mr. {surname} is waiting for Mrs. {surname2} in the office. | {surname}先生在办公室等{surname2}女士。
    Ich möchte mit Frau {surname} sprechen. // Ich würde gern mit Frau {surname} sprechen. | I would like to speak with Ms. {surname}. // I'd like to speak to Ms. {surname}. // I'd like to speak with Mrs. {surname}. | 我想和{surname}女士谈谈。
    Herr {surname} ist unser Lehrer. | Mr. {surname} is our teacher. | {surname}先生是我们的老师。
    Haben Sie Herrn {surname} gesehen? // Hast du Herrn {surname} gesehen? | Have you seen Mr. {surname}? | 你看见{surname}先生了吗？
    Der Termin bei Frau {surname} ist um {time}. // Der Termin mit Frau {surname} ist um {time}. | The appointment with Ms. {surname} is at {time}. // The appointment with Mrs. {surname} is at {time}. | -
    Ich komme aus {town}. | I'm from {town}. // I am from {town}. // I come from {town}. | 我来自{town}。 // 我是{town}人。
    Ich wohne in {town}. // Ich lebe in {town}. | I live in {town}. | 我住在{town}。
    Wir fahren morgen nach {town}. // Morgen fahren wir nach {town}. | We're going to {town} tomorrow. // We are going to {town} tomorrow. // Tomorrow we're going to {town}. | 我们明天去{town}。 // 明天我们去{town}。
    Wie weit ist es von {town} nach {town2}? | How far is it from {town} to {town2}? | 从{town}到{town2}有多远？
    Der Zug von {town} nach {town2} fährt um {time} ab. // Der Zug von {town} nach {town2} fährt um {time}. | The train from {town} to {town2} leaves at {time}. // The train from {town} to {town2} departs at {time}. | 从{town}到{town2}的火车{time}出发。
    Fährt dieser Zug nach {town}? | Does this train go to {town}? | 这列火车去{town}吗？ // 这趟火车去{town}吗？
    Warst du schon einmal in {town}? // Waren Sie schon einmal in {town}? // Bist du schon mal in {town} gewesen? | Have you ever been to {town}? | 你去过{town}吗？ // 您去过{town}吗？
    In {town} regnet es. // Es regnet in {town}. | It's raining in {town}. // It is raining in {town}. | {town}在下雨。
    {town} ist eine schöne Stadt. | {town} is a beautiful city. | {town}是一座美丽的城市。 // {town}是个美丽的城市。
    {town} gefällt mir besser als {town2}. | I like {town} better than {town2}. | 我更喜欢{town}，而不是{town2}。
    Ich komme aus {country}. | I'm from {country}. // I am from {country}. // I come from {country}. | 我来自{country}。
    {given} kommt aus {country}. | {given} is from {country}. // {given} comes from {country}. | {given}来自{country}。
    Im Sommer fahren wir nach {country}. // Wir fahren im Sommer nach {country}. | We're going to {country} in the summer. // In summer we're going to {country}. // We are going to {country} in summer. | 夏天我们去{country}。
    {given} hat {span} in {country} gelebt. // {given} lebte {span} in {country}. | {given} lived in {country} for {span}. | {given}在{country}住了{span}。
    {country} ist größer als {country2}. | {country} is bigger than {country2}. // {country} is larger than {country2}. | {country}比{country2}大。
    Unsere Adresse ist {street}, {town}. // Unsere Anschrift ist {street}, {town}. | Our address is {street}, {town}. | -
    Die Adresse ist {street}. // Die Anschrift lautet {street}. | The address is {street}. | -
    Bringen Sie mich bitte zum Hotel in {town}. // Bringen Sie mich bitte in das Hotel in {town}. | Please take me to the hotel in {town}. | 请带我去{town}的酒店。
    {name} hat am {date} um {time} angerufen. // {name} rief am {date} um {time} an. | {name} called on {date} at {time}. | {name}{date}{time}打过电话。
    {name} ist {age} Jahre alt und wohnt in {town}. // {name} ist {age} und lebt in {town}. | {name} is {age} years old and lives in {town}. | {name}{age}岁，住在{town}。
    Weil {given} krank ist, kommt {given2} am {weekday}. // {given2} kommt am {weekday}, weil {given} krank ist. | Because {given} is sick, {given2} is coming on {weekday}. // {given2} is coming on {weekday} because {given} is sick. | 因为{given}病了，所以{given2}{weekday}来。
    Wenn {given} nicht kommt, gehen wir allein. | If {given} doesn't come, we'll go alone. // If {given} does not come, we will go alone. | 如果{given}不来，我们就自己去。
"""

DELAYS = read_table("""
    zehn Minuten | ten minutes | 十分钟
    fünf Minuten | five minutes | 五分钟
    zwanzig Minuten | twenty minutes | 二十分钟
    fünfundvierzig Minuten | forty-five minutes | 四十五分钟
    35 Minuten | 35 minutes | 35分钟
    eine Stunde | an hour // one hour | 一个小时 // 一小时
    zwei Stunden | two hours | 两个小时 // 两小时
    eine halbe Stunde | half an hour | 半个小时 // 半小时
    eineinhalb Stunden // anderthalb Stunden | an hour and a half // one and a half hours | 一个半小时
    eine Viertelstunde | a quarter of an hour | 一刻钟
    """)


KINDS = (
    FrameGroup("times", 0.3, read_frames(TIMES)),
    FrameGroup("dates", 0.25, read_frames(DATES)),
    FrameGroup("amounts", 0.2, read_frames(AMOUNTS)),
    FrameGroup("names", 0.25, read_frames(NAMES)),
)
SLOTS: dict[str, Draw] = {
    "person": pick_from(PEOPLE),
    "event": pick_from(EVENTS),
    "vehicle": pick_from(VEHICLES),
    "shop": pick_from(SHOPS),
    "good": pick_from(GOODS),
    "delay": pick_from(DELAYS),
}
