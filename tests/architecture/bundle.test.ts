import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { rolldown, type OutputChunk } from 'rolldown'
import { describe, expect, it } from 'vitest'
import { root } from './workspace.js'

/** Globals of browsers that the packages may use besides those of the language. */
const webGlobals = {
  AbortController,
  AbortSignal,
  TextDecoder,
  TextEncoder,
  clearTimeout,
  crypto,
  performance,
  queueMicrotask,
  setTimeout,
  structuredClone,
}

const entries = [
  'protocol/src/index.ts',
  'core/src/index.ts',
  'client/src/index.ts',
  'connectors/src/index.ts',
  'agents/src/demo/index.ts',
]

describe.each(entries)('packages/%s in a bare context', (name) => {
  it('bundles without leaving an import behind', async () => {
    const { warnings, chunk } = await bundle(name)
    expect({ warnings, imports: chunk.imports, dynamicImports: chunk.dynamicImports }).toEqual({
      warnings: [],
      imports: [],
      dynamicImports: [],
    })
  })

  it('loads and exports the same names as its entry point', async () => {
    const { chunk } = await bundle(name)
    const exported: unknown = runInContext(
      `${chunk.code}; Object.keys(bundle)`,
      createContext({ ...webGlobals }),
    )
    expect([...(exported as string[])].toSorted()).toEqual(chunk.exports.toSorted())
    expect(chunk.exports).not.toHaveLength(0)
  })
})

it('a question is asked and answered without Node', async () => {
  const { chunk } = await bundle('core/src/index.ts')
  const outcome: unknown = await runInContext(
    `${chunk.code}; (${askAndAnswer})()`,
    createContext({ ...webGlobals }),
  )
  expect(JSON.parse(String(outcome))).toMatchObject({
    settlement: 'answered',
    answer: { answers: [{ selected: ['A'] }] },
  })
})

const askAndAnswer = `async () => {
  const desk = bundle.createDesk({ store: bundle.memoryStore() })
  const asked = desk.session('s').ask({
    questions: [{ header: 'DB', question: 'Which?', options: [{ label: 'A' }, { label: 'B' }], multiSelect: false }],
  })
  let pending = []
  while (pending.length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 0))
    pending = (await desk.pending({})).interactions
  }
  await desk.as({ by: { id: 'me' }, via: 'direct' }).respond({
    sessionId: pending[0].sessionId,
    interactionId: pending[0].interactionId,
    answer: { answers: [{ selected: ['A'] }] },
  })
  const settled = await asked
  desk.close()
  return JSON.stringify(settled)
}`

async function bundle(entry: string): Promise<{ chunk: OutputChunk; warnings: string[] }> {
  const warnings: string[] = []
  const build = await rolldown({
    input: join(root, 'packages', entry),
    platform: 'browser',
    resolve: { conditionNames: ['askback-source', 'browser', 'import', 'default'] },
    onLog: (_level, log) => warnings.push(log.message),
  })
  const { output } = await build.generate({ format: 'iife', name: 'bundle', codeSplitting: false })
  await build.close()
  return { chunk: output[0], warnings }
}
