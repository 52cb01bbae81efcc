import { errorMessage } from '@askback/protocol'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.js'

const TIME_SLOT = `
  import { defineInteraction, z } from 'askback/config'
  export interface Unused { types: 'are removed' }
  export const timeSlot = defineInteraction({
    kind: 'time_slot',
    presentation: 'questionnaire',
    request: z.object({ slots: z.array(z.string()) }),
    answer: z.object({ slot: z.string() as z.ZodType<string> }),
  })`
const CONFIG = `
  import { defineConfig } from 'askback/config'
  import { timeSlot } from './time-slot.ts'
  export default defineConfig({ kinds: [timeSlot], limits: { sessions: 7 }, renderers: { time_slot: './slot.js' } })`

const ASYNCHRONOUS = `{ '~standard': { version: 1, vendor: 'own', validate: () => Promise.reject(new Error('late')) } }`

function folderWith(files: Record<string, string>): string {
  // Outside of the repository, so that nothing can be found in its node_modules.
  const folder = mkdtempSync(join(tmpdir(), 'askback-config-'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

describe('a settings file', () => {
  it.each(['askback.config.ts', 'askback.config.mts'])('can be TypeScript: %s', async (name) => {
    const folder = folderWith({ [name]: CONFIG, 'time-slot.ts': TIME_SLOT })
    const { file, gateway, kinds, renderers } = await readConfig(folder, {})
    expect(file).toBe(join(folder, name))
    expect(gateway.limits).toMatchObject({ sessions: 7, bodyBytes: 4 * 1024 * 1024 })
    expect(kinds).toMatchObject([{ kind: 'time_slot' }])
    expect(renderers).toEqual({ time_slot: join(folder, 'slot.js') })
  })

  it.each(['askback.config.js', 'askback.config.mjs'])('can be JavaScript: %s', async (name) => {
    const text = `import { defineConfig } from 'askback/config'
      export default defineConfig({ timeout: await Promise.resolve('2h') })`
    expect(await readConfig(folderWith({ [name]: text }), {})).toMatchObject({ gateway: { timeout: '2h' } })
  })

  it.each(['askback.config.json', 'config.json'])(
    'can be JSON, with JSON Schemas for kinds: %s',
    async (name) => {
      const properties = { slot: { type: 'string', enum: ['Mon', 'Tue'] } }
      const answer = { type: 'object', properties, required: ['slot'] }
      const kind = { kind: 'time_slot', presentation: 'tool', request: { type: 'object' }, answer }
      const { kinds } = await readConfig(folderWith({ [name]: JSON.stringify({ kinds: [kind] }) }), {})
      expect(kinds[0]?.answer['~standard'].validate({ slot: 'Mon' })).toEqual({ value: { slot: 'Mon' } })
      expect(kinds[0]?.answer['~standard'].validate({ slot: 'Fri' })).toHaveProperty('issues')
    },
  )

  it.each(['timeSlot', "'time_slot'"])('maps tools of Claude to its kinds: %s', async (kind) => {
    const text = CONFIG.replace(
      'limits:',
      `agents: { claude: { tools: { DeployWindow: ${kind} } } }, limits:`,
    )
    const folder = folderWith({ 'askback.config.ts': text, 'time-slot.ts': TIME_SLOT })
    const { gateway } = await readConfig(folder, {})
    expect(Object.keys(gateway.agents.claude.tools ?? {})).toEqual(['DeployWindow'])
  })

  it.each([
    [
      { claude: { tools: { DeployWindow: 'riddle' } } },
      /map the tool DeployWindow to the kind "riddle", which is not one of their kinds/,
    ],
    [
      { codex: { tools: { DeployWindow: 'riddle' } } },
      /map tools for agents\.codex, which cannot get a changed input from a person/,
    ],
    [
      { acp: [{ id: 'a', command: 'b', tools: {} }] },
      /map tools for agents\.acp\.0, which cannot get a changed input/,
    ],
  ])('refuses a mapping of tools that cannot work: %j', async (agents, reason) => {
    const folder = folderWith({ 'askback.config.json': JSON.stringify({ agents }) })
    await expect(readConfig(folder, {})).rejects.toThrow(reason)
  })

  it('is read again after it was changed', async () => {
    const folder = folderWith({ 'askback.config.ts': `export default { loginDays: 1 }` })
    expect(await readConfig(folder, {})).toMatchObject({ gateway: { loginDays: 1 } })
    writeFileSync(join(folder, 'askback.config.ts'), `export default { loginDays: 2 }`)
    expect(await readConfig(folder, {})).toMatchObject({ gateway: { loginDays: 2 } })
  })

  it('is optional', async () => {
    expect(await readConfig(folderWith({}), {})).toMatchObject({ file: null, kinds: [], renderers: {} })
  })
})

describe('a settings file that cannot be used is refused in one sentence with the file', () => {
  const kind = (more: string) =>
    `export default { kinds: [{ kind: 'own', presentation: 'tool', request: {}, answer: {}, ${more} }] }`

  it.each([
    ['throws', `throw new Error('The disk is on fire')`, 'The disk is on fire.'],
    ['does not parse', `export default {`, 'Unexpected token'],
    ['imports what is missing', `import 'nowhere'; export default {}`, "'nowhere'"],
    ['exports nothing', `export const kinds = []`, 'export nothing as their default'],
    ['exports a number', `export default 5`, 'expected object'],
    [
      'misspells a key',
      `export default { kind: [] }`,
      'a key that does not exist: kind. There are: allowedHosts',
    ],
    [
      'misspells a key below',
      `export default { limits: { sesions: 1 } }`,
      'in limits: sesions. There are: bodyBytes',
    ],
    [
      'misspells a key of an agent',
      `export default { agents: { acp: [{ id: 'x', comand: 'y' }] } }`,
      'in agents.acp.0: comand. There are: id, name, command',
    ],
    ['has a kind that is none', `export default { kinds: [5] }`, 'at kinds.0: The kind undefined'],
    ['has a kind without schemas', kind(`answer: 'text'`), 'has no Standard Schema as its answer'],
    [
      'has a kind whose JSON Schema is none',
      kind(`answer: { type: 'colour' }`),
      'its answer is a JSON Schema',
    ],
    ['has a kind of Askback', kind(`kind: 'approval'`), 'the kind "approval", which Askback has itself'],
    ['has a kind twice', kind('').replace(/\[(.*)\]/u, '[$1, $1]'), 'define the kind "own" twice'],
    [
      'has a kind whose answer is asynchronous',
      kind(`answer: ${ASYNCHRONOUS}`),
      'an asynchronous schema as its answer',
    ],
    [
      'has a kind whose request is asynchronous',
      kind(`request: ${ASYNCHRONOUS}`),
      'an asynchronous schema as its request',
    ],
    ['draws a kind that is not there', `export default { renderers: { own: './own.js' } }`, 'the kind "own"'],
  ])('because it %s', async (_, text, reason) => {
    const folder = folderWith({ 'askback.config.ts': text })
    const refused = readConfig(folder, {})
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request' })
    const message = await refused.catch(errorMessage)
    expect(message).toContain(join(folder, 'askback.config.ts'))
    expect(message).toContain(reason)
    expect(message).not.toContain('\n')
  })

  it('because a second one is beside it', async () => {
    const folder = folderWith({ 'askback.config.ts': 'export default {}', 'config.json': '{}' })
    await expect(readConfig(folder, {})).rejects.toThrow('askback.config.ts and config.json')
  })

  it('because the named one is missing', async () => {
    const file = join(folderWith({}), 'askback.config.ts')
    await expect(readConfig(folderWith({}), { file })).rejects.toThrow(
      `${file} cannot be read: there is no such file.`,
    )
  })

  it.each(['settings', 'askback.config.ts', 'askback.config.json'])(
    'because the named one is a folder: %s',
    async (name) => {
      const file = join(folderWith({}), name)
      mkdirSync(file)
      writeFileSync(join(file, 'index.ts'), 'export default { loginDays: 1 }')
      await expect(readConfig(folderWith({}), { file })).rejects.toThrow(
        `${file} cannot be read: it is not a file.`,
      )
    },
  )
})
