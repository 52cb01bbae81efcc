import { acceptLoss, checkDatabase, sealCopy } from '@askback/store-sqlite'
import { existsSync, rmSync } from 'node:fs'
import { describe } from '../backup.js'
import { copyDatabase, databaseFile, hasGateway, isInUse } from '../database-copy.js'
import { broken, fine, messageOf, missing, type Check } from './check.js'

const NAME = 'contents'
/** More of them tell nothing new. */
const MOST = 100

/** Everything in the database, one line a finding. Of a gateway that runs a copy is read, so that it is not held up. */
export async function contentsChecks(folder: string): Promise<Check[]> {
  const path = databaseFile(folder)
  if (!existsSync(path)) return [noDatabase(folder)]
  try {
    if (!hasGateway(folder)) return findingsIn(path)
    const copy = `${path}.check-${process.pid}`
    try {
      await copyDatabase(folder, copy)
      sealCopy(copy)
      return findingsIn(copy)
    } finally {
      for (const name of ['', '-wal', '-shm', '-journal']) rmSync(`${copy}${name}`, { force: true })
    }
  } catch (error) {
    return [broken(NAME, messageOf(error))]
  }
}

function noDatabase(folder: string): Check {
  return missing(
    NAME,
    hasGateway(folder)
      ? 'are in PostgreSQL, which --deep does not read: check it with the tools of PostgreSQL'
      : `there is no database in ${folder}`,
  )
}

function findingsIn(path: string): Check[] {
  const findings: string[] = []
  const counts = checkDatabase(path, (finding) => findings.push(finding))
  if (findings.length === 0) return [fine(NAME, `${describe(counts)}: nothing is wrong`)]
  const more = findings.length - MOST
  return [
    ...findings.slice(0, MOST).map((finding) => broken(NAME, finding)),
    ...(more > 0 ? [broken(NAME, `and ${more} more ${more === 1 ? 'finding' : 'findings'}`)] : []),
  ]
}

/** From then on a gateway starts with what is there. */
export async function acceptLossCheck(folder: string): Promise<Check> {
  const name = 'loss'
  const path = databaseFile(folder)
  if (!existsSync(path) && !isInUse(path)) return missing(name, `there is no database in ${folder}`)
  try {
    const loss = acceptLoss(path)
    // Without what could have been done instead.
    const [what] = loss?.split(/: put |\. Put /) ?? []
    return fine(
      name,
      what === undefined ? 'nothing was lost' : `accepted: a gateway starts with what is there. ${what}`,
    )
  } catch (error) {
    return broken(name, messageOf(error))
  }
}
