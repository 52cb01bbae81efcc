// Kills a desk 200 times while clients ask and answer, and counts contradictions to what was acknowledged.
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rolldown } from 'rolldown'
import { report } from './measure.mjs'
import { inFolder } from './workload.mjs'

/** @import { crashRounds } from '../../tests/durability/crash-rounds.js' */

const ROUNDS = 200

await inFolder(async (folder) => {
  const program = await bundle('child-desk', folder)
  const suite = /** @type {{ crashRounds: typeof crashRounds }} */ (
    await import(pathToFileURL(await bundle('crash-rounds', folder)).href)
  )
  const path = join(folder, 'crash.db')
  const crashes = await suite.crashRounds({ program, path, rounds: ROUNDS, random: Math.random })
  for (const problem of crashes.problems) console.error(problem)
  report([
    { what: `crash: contradictions in ${ROUNDS} rounds`, value: crashes.problems.length, atMost: 0 },
    { what: 'crash: questions and answers acknowledged', value: crashes.acknowledged, atLeast: ROUNDS },
    { what: 'crash: calls without a reply after the kill', value: crashes.unanswered, atLeast: ROUNDS },
    { what: 'crash: killed while recovering', value: crashes.duringRecovery, atLeast: 1 },
  ])
})

/**
 * @param {string} name
 * @param {string} folder
 */
async function bundle(name, folder) {
  const build = await rolldown({
    input: fileURLToPath(new URL(`../../tests/durability/${name}.ts`, import.meta.url)),
    platform: 'node',
    external: ['libsql'],
    resolve: { conditionNames: ['askback-source', 'node', 'import', 'default'] },
  })
  const file = join(folder, `${name}.mjs`)
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
  return file
}
