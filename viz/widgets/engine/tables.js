// Constants that Python and the engine share (`viz/export/engine_tables.py`). They are part of the engine's script.

/** @type {any} */
export const tables = globalThis.headlightTables;
