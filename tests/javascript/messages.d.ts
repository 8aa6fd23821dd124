// Made by `python -m workshop.message_types` from `viz/service/messages.py` and the calls of the page.

declare module 'messages' {
  export type Alternative = [string, number, number];

  /** A whole translation. */
  export interface Answer {
    turn?: number;
    what: 'answer';
    version: 2;
    model: AnswerModel;
    request: RequestValues;
    source_text: string;
    text: string;
    source: TokenValues[];
    target: TokenValues[];
    start: TokenValues;
    attention: Record<Kind, EncodedTensor>;
    hidden?: number[];
    unknown?: number[];
    adaptations?: string[];
    roles: Record<Kind, RoleValues[][]>;
    measures: Record<Kind, Record<string, MeasureValues>>;
    opening: OpeningValues | null;
    late: [number, number][];
    hypotheses: Hypothesis[];
    tree: NodeValues[];
    score: number;
    log_probability: number;
    stopped: StopReason;
    reliability: ReliabilityValues | null;
    device: string;
    seconds: number;
    cached?: boolean;
    hint?: LanguageHint | null;
    way_back?: string;
  }

  /** Fields of an answer that depend on the visitor's request or on other models. */
  export interface AnswerExtras {
    cached?: boolean;
    hint?: LanguageHint | null;
    way_back?: string;
    reliability?: ReliabilityValues | null;
  }

  /** The model of an answer, with the languages of the translation. In notebooks, defaults and choices are empty. */
  export interface AnswerModel {
    name: string;
    source: string;
    target: string;
    best_head: BestHead | null;
    where: 'here' | 'hub';
    downloaded: boolean;
    bytes: number;
    defaults: Record<string, any>;
    default_source: string;
    default_target: string;
    sources: string[];
    targets: string[];
    left_out: string[];
    python_defaults: DecodingOptions | null;
  }

  /** The head that aligns words best, and the row offset at which it does. */
  export interface BestHead {
    layer: number;
    head: number;
    shift: number;
  }

  /** Live requests are deferred because the server is busy. */
  export interface BusyMessage {
    turn?: number;
    what: 'busy';
  }

  /** A classifier of the menu. */
  export interface ClassifierEntry {
    name: string;
    source: string;
    target: string;
    best_head: BestHead | null;
    where: 'here' | 'hub';
    downloaded: boolean;
    bytes: number;
    linear: boolean;
  }

  /** Decoding options. A beam of one is greedy; a temperature above zero samples. */
  export interface DecodingOptions {
    beam_size: number;
    length_penalty: number;
    n_best: number;
    max_length: number | null;
    temperature: number;
    top_k: number;
    top_p: number;
    seed: number;
    no_repeat: number;
    alternatives: number;
    back_weight: number;
  }

  export type DownloadMessage = FetchingMessage | FetchedMessage | ErrorMessage;

  /** A model on the Hub before its download; sizes in bytes. */
  export interface DownloadPlan {
    here: false;
    name: string;
    source: string;
    target: string;
    bytes: number;
    missing: number;
    licence: string;
    revision: string;
  }

  /** A downloaded model, and all models of its kind. */
  export interface Downloaded {
    name: string;
    kind: 'transformer' | 'classifier';
    models: TranslatorEntry[] | ClassifierEntry[];
  }

  /** Another visitor has downloaded the model since the page was opened. */
  export interface DownloadedBefore {
    name: string;
    kind: 'transformer' | 'classifier';
    models: TranslatorEntry[] | ClassifierEntry[];
    here: true;
  }

  /** Weights of any shape, a letter for each (`weight_encoding.py`). */
  export interface EncodedTensor {
    shape: number[];
    letters: string;
  }

  /** An error as a key of the phrase tables, with the request field that it belongs to. */
  export interface ErrorMessage {
    turn?: number;
    what: 'error';
    field: string;
    word: string;
    values: Record<string, any>;
  }

  /** The download is complete. */
  export interface FetchedMessage {
    name: string;
    kind: 'transformer' | 'classifier';
    models: TranslatorEntry[] | ClassifierEntry[];
    what: 'fetched';
  }

  /** Progress of a download in bytes. */
  export interface FetchingMessage {
    what: 'fetching';
    done: number;
    total: number;
  }

  /** A finding about a translation, with the cell that shows it. */
  export interface FindingValues {
    sentences: Record<string, string>;
    kind: Kind;
    layer: number;
    head: number;
    row: number;
    column: number;
  }

  /** The strongest findings about a translation, in the order of the list. */
  export interface Findings {
    findings: FindingValues[];
  }

  export type Grade = 'right' | 'check' | 'doubt';

  /** The Hub's name if it is unreachable, else empty. */
  export interface HubStatus {
    away: string;
  }

  /** A finished or abandoned translation of the beam. A request with its `ids` as `target` returns its attention. */
  export interface Hypothesis {
    text: string;
    ids: number[];
    score: number;
    log_probability: number;
    ended: boolean;
    reverse_score: number | null;
  }

  export type Kind = 'encoder' | 'decoder' | 'cross';

  /** The sentence seems to be in another language than the model reads. */
  export interface LanguageHint {
    language: string;
    reads: string;
    offers: LanguageOffer[];
  }

  /** A model that reads the sentence; `source_language` if a request must name it. */
  export interface LanguageOffer {
    model: string;
    source_language: string;
    source: string;
    target: string;
  }

  export type MeasureValues = [Unit, number, string];

  /** A streamed message. `turn` repeats the number of the request. */
  export interface Message {
    turn?: number;
  }

  /** A model of a menu. */
  export interface ModelEntry {
    name: string;
    source: string;
    target: string;
    best_head: BestHead | null;
    where: 'here' | 'hub';
    downloaded: boolean;
    bytes: number;
  }

  export type NodeValues = [number, number, number, string, number, number, 'kept' | 'finished' | 'dropped'];

  /** Initial selection of a view; no row if the translation is empty. */
  export interface OpeningValues {
    layer: number;
    head: number;
    row: number | null;
  }

  /** Name by which to fetch an answer that is too large to stream. */
  export interface ParcelMessage {
    turn?: number;
    what: 'parcel';
    name: string;
  }

  /** The tokens written so far. */
  export interface ProgressMessage {
    turn?: number;
    what: 'progress';
    text: string;
    target: TokenValues[];
  }

  /** Reliability of an answer from its back-translation. */
  export interface ReadBack {
    reliability: ReliabilityValues | null;
  }

  /** A reason to doubt a translation, with the words concerned. */
  export interface Reason {
    kind: string;
    source_spans: [number, number][];
    target_spans: [number, number][];
    source: string;
    target: string;
  }

  /** Reliability of a translation with its reasons. */
  export interface ReliabilityValues {
    probability: number | null;
    grade: Grade | null;
    reasons: Reason[];
    back: string | null;
  }

  /** The request of an answer. */
  export interface RequestValues {
    text: string;
    model: string;
    options: DecodingOptions;
    target: string | number[] | null;
    prefix: string | number[] | null;
    source_language: string;
    target_language: string;
    interventions?: Record<string, any>[];
  }

  export type RoleName =
    | 'same'
    | 'previous'
    | 'next'
    | 'before'
    | 'ahead'
    | 'around'
    | 'just_written'
    | 'back_two'
    | 'aligns'
    | 'behind'
    | 'diagonal'
    | 'start'
    | 'end'
    | 'punctuation'
    | 'spreads'
    | 'unclear';

  export type RoleValues = [RoleName, number, number];

  export type StopReason = 'end' | 'length' | 'forced' | 'cancelled';

  /** A token with its label. `start` and `end` count characters of its text. */
  export interface TokenValues {
    text: string;
    label: string;
    id: number;
    start: number;
    end: number;
    word: number | null;
    full?: string;
    special?: boolean;
    joined?: boolean;
    piece?: number;
    pieces?: number;
    probability?: number;
    alternatives?: Alternative[];
  }

  export type TranslationMessage = Answer | ProgressMessage | WaitingMessage | BusyMessage | ErrorMessage | ParcelMessage;

  /** A translator of the menu. The defaults of some are unknown before their first answer. */
  export interface TranslatorEntry {
    name: string;
    source: string;
    target: string;
    best_head: BestHead | null;
    where: 'here' | 'hub';
    downloaded: boolean;
    bytes: number;
    defaults: Record<string, any> | null;
  }

  export type Unit = 'bits' | 'tokens' | 'share';

  /** Position in the queue. `before`: requests of other visitors; None: only the visitor's own run first. */
  export interface WaitingMessage {
    turn?: number;
    what: 'waiting';
    before: number | null;
    ticket?: string;
  }

  export type Reply<Result> = Promise<Result | WaitingMessage | ErrorMessage>;

  /** A function of the server. A reply that is a place in the queue names the ticket of the next call. */
  export type Call<Result> = (values: object, ticket?: string, options?: RequestInit) => Reply<Result>;

  /** Messages of each stream. */
  export interface Streams {
    fetch_model: DownloadMessage;
    stream_messages: TranslationMessage;
  }

  /** What a widget calls. */
  export interface Server {
    /** Passes each message to `hear` until the response ends. */
    stream<Name extends keyof Streams>(
      name: Name,
      values: object,
      hear: (message: Streams[Name]) => void,
      signal?: AbortSignal,
    ): Promise<void>;
    account_heads: Call<any>;
    account_keys: Call<any>;
    account_word: Call<any>;
    add_class_answer: Call<any>;
    begin_training: Call<any>;
    changed_translation: Call<any>;
    check_hub: Call<HubStatus>;
    classify_review: Call<any>;
    corpus_roles: Call<any>;
    count_links: Call<any>;
    delete_class: Call<any>;
    download_info: Call<DownloadPlan | DownloadedBefore>;
    draw_chances: Call<any>;
    draw_search: Call<any>;
    erase: Call<any>;
    explain_row: Call<any>;
    explain_score: Call<any>;
    explain_stream: Call<any>;
    export: Call<any>;
    faithfulness_report: Call<any>;
    fetch_deferred: Call<Answer>;
    find_change: Call<any>;
    head_atlas: Call<any>;
    hide_words: Call<any>;
    join_class: Call<any>;
    lesson_notebook: Call<any>;
    lesson_tensors: Call<any>;
    list_models: Call<TranslatorEntry[]>;
    logit_details: Call<any>;
    make_class: Call<any>;
    map_effects: Call<any>;
    measure_importance: Call<any>;
    measure_interactions: Call<any>;
    measure_score: Call<any>;
    measured_effect: Call<any>;
    model_cards: Call<any>;
    more_training: Call<any>;
    name_rival: Call<any>;
    patch_pair: Call<any>;
    position_encoding: Call<any>;
    predict_losses: Call<any>;
    pruning_curve: Call<any>;
    read_back: Call<ReadBack>;
    read_build: Call<any>;
    read_class: Call<any>;
    read_lessons: Call<any>;
    read_quiz: Call<any>;
    run_build_line: Call<any>;
    run_experiment: Call<any>;
    run_method: Call<any>;
    scan: Call<Findings>;
    second_translation: Call<any>;
    stop_training: Call<any>;
    strongest_effects: Call<any>;
  }
}
