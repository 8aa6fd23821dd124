// Globals of the page, in addition to its modules.

/** Phrases, colours and file versions, loaded with the modules. */
declare var headlightTables: {
  words: Record<string, Record<string, string>>;
  theme: Record<string, any>;
  fields: Record<string, Record<string, any>[]>;
  squares: [number, number][];
  versions: Record<string, string>;
};
/** All loaded modules by path. */
declare var headlightModules: Record<string, any>;
/** The data of a saved page; undefined if the page has a server. */
declare var headlightData: any;
/** On a page without a server: the engine, the models and the widgets. */
declare var headlightSite: any;
/** On such a page, for its first script: paths of compressed files by name, and sentences for faults by language. */
declare var headlightStart: { files: Record<string, string>; sentences: Record<string, Record<string, string>> };
/** On such a page: loads a compressed file, and returns the URL of its content. */
declare var openHeadlightFile: ((name: string) => Promise<string>) | undefined;
/** In the service worker of such a page: its files. */
declare var headlightFiles: { version: string; first: string[] };
declare var Plotly: any;
/** The return type of `setTimeout`. */
type Timer = ReturnType<typeof setTimeout>;
/** Events between widgets. */
interface WindowEventMap {
  'headlight-hub': CustomEvent<{ again: boolean }>;
  'headlight-link': CustomEvent<null>;
  'headlight-model': CustomEvent<{ name: string }>;
  'headlight-file': CustomEvent<{ file: File | null }>;
  'headlight-request': CustomEvent<Record<string, any>>;
}
interface Window {
  Plotly?: any;
}
