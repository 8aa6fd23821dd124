// What the page has beside its modules.

/** Words, colours and versions of files: they come with the modules. */
declare var headlightTables: {
  words: Record<string, Record<string, string>>;
  theme: Record<string, any>;
  fields: Record<string, Record<string, any>[]>;
  squares: [number, number][];
  versions: Record<string, string>;
};
/** All modules that have come, by their paths. */
declare var headlightModules: Record<string, any>;
/** In a saved page: what it shows. */
declare var headlightData: any;
/** On a page without a server: the engine, the models and the widgets. */
declare var headlightSite: any;
/** In the service worker of such a page: its files. */
declare var headlightFiles: { version: string; first: string[] };
/** On a page that a server serves: what Gradio says of it. */
declare var gradio_config: any;
declare var Plotly: any;
/** What `setTimeout` returns. */
type Timer = ReturnType<typeof setTimeout>;
/** Events by which one widget asks another. */
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
