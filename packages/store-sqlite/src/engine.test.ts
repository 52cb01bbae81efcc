import { expect, it } from 'vitest'
import { loadEngine } from './engine.js'

it('says what to do if the binary for this system is not installed', () => {
  const missing = () => {
    throw new Error("Cannot find module '@libsql/linux-x64-gnu'")
  }
  expect(() => loadEngine(missing)).toThrow(
    `The binary of SQLite for this system (${process.platform}-${process.arch}) is not installed: install again without --omit=optional, or use PostgreSQL.`,
  )
})
