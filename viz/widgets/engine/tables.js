// Constants that Python and the engine share (`viz/static_site/engine_tables.py`). They are part of the engine's script.

/** @type {any} */
export const tables = globalThis.headlightTables;
