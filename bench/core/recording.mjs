import Database from 'libsql'

/**
 * A statement with the values it was run with; without values it was executed unprepared.
 *
 * @typedef {{ sql: string; values?: unknown[]; call?: 'run' | 'get' }} Write
 */

// oxlint-disable-next-line typescript/unbound-method -- called with the connection that it is meant for
const { prepare, exec } = Database.prototype

/**
 * Records what the connections of this process write from now on. A loop that repeats the records writes the same rows in the
 * same transactions, and does nothing else.
 */
export function watchWrites() {
  /** @type {{ notes: Write[] | null; commits: number }} Writes are recorded while there is a list. */
  const watch = { notes: null, commits: 0 }
  /** @this {Database.Database} */
  function preparing(/** @type {string} */ sql) {
    const statement = prepare.call(this, sql)
    if (!/^(INSERT|UPDATE|DELETE)/.test(sql)) return statement
    const [run, get] = [statement.run.bind(statement), statement.get.bind(statement)]
    statement.run = (/** @type {unknown[]} */ values = []) => {
      watch.notes?.push({ sql, values, call: 'run' })
      return run(values)
    }
    statement.get = (/** @type {unknown[]} */ values = []) => {
      watch.notes?.push({ sql, values, call: 'get' })
      return get(values)
    }
    return statement
  }
  /** @this {Database.Database} */
  function executing(/** @type {string} */ sql) {
    watch.notes?.push({ sql })
    if (sql === 'COMMIT') watch.commits += 1
    return exec.call(this, sql)
  }
  Object.assign(Database.prototype, { prepare: preparing, exec: executing })
  return watch
}

/**
 * Repeats recorded writes. Values that are JSON are available as objects, as for every writer, and are serialised when their row
 * is written.
 *
 * @param {string} path
 * @param {Write[]} before Creates the tables and the first rows.
 * @param {Write[][]} parts The writes to measure.
 */
export function bareLoop(path, before, parts) {
  const db = new Database(path)
  /** @type {Map<string, Database.Statement>} */
  const prepared = new Map()
  /**
   * @param {Write} write
   * @returns {() => unknown}
   */
  function ready({ sql, values, call = 'run' }) {
    if (!values) return () => exec.call(db, sql)
    const statement = prepared.get(sql) ?? prepare.call(db, sql)
    prepared.set(sql, statement)
    const parsedValues = values.map(parsed)
    return () => statement[call](parsedValues.map(serialised))
  }
  for (const write of before) ready(write)()
  // The store has switched automatic checkpoints off, and its own are not recorded.
  exec.call(db, 'PRAGMA wal_autocheckpoint = 4000')
  const steps = parts.map((writes) => writes.map(ready))
  return {
    run(/** @type {number} */ part) {
      for (const step of steps[part] ?? []) step()
    },
    close() {
      db.close()
    },
  }
}

/**
 * @param {unknown} value
 * @returns {unknown}
 */
function parsed(value) {
  return typeof value === 'string' && /^[[{]/.test(value) ? JSON.parse(value) : value
}

/** @param {unknown} value */
function serialised(value) {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value
}
