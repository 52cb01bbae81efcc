import Database from 'libsql'

/**
 * A statement with the values it was run with; without values it was executed unprepared.
 *
 * @typedef {{ sql: string; values?: unknown[] }} Write
 */

// oxlint-disable-next-line typescript/unbound-method -- called with the connection that it is meant for
const { prepare, exec } = Database.prototype

/**
 * Notes every statement that the connections of this process write with, from now on. A loop that repeats the notes writes
 * the same rows in the same transactions, and does nothing else.
 *
 * @returns {Write[]}
 */
export function recordWrites() {
  /** @type {Write[]} */
  const writes = []
  /** @this {Database.Database} */
  function preparing(/** @type {string} */ sql) {
    const statement = prepare.call(this, sql)
    const run = statement.run.bind(statement)
    statement.run = (/** @type {unknown[]} */ values = []) => {
      writes.push({ sql, values })
      return run(values)
    }
    return statement
  }
  /** @this {Database.Database} */
  function executing(/** @type {string} */ sql) {
    writes.push({ sql })
    return exec.call(this, sql)
  }
  Object.assign(Database.prototype, { prepare: preparing, exec: executing })
  return writes
}

/**
 * @param {string} path
 * @param {Write[]} before What makes the tables and the first rows.
 * @param {Write[]} writes What is measured.
 */
export function bareLoop(path, before, writes) {
  const db = new Database(path)
  /** @type {Map<string, Database.Statement>} */
  const prepared = new Map()
  /**
   * @param {Write} write
   * @returns {() => unknown}
   */
  function ready({ sql, values }) {
    if (!values) return () => exec.call(db, sql)
    const statement = prepared.get(sql) ?? prepare.call(db, sql)
    prepared.set(sql, statement)
    return () => statement.run(values)
  }
  for (const write of before) ready(write)()
  const steps = writes.map(ready)
  return {
    run() {
      for (const step of steps) step()
    },
    close() {
      db.close()
    },
  }
}
