import type { Interaction } from '@askback/protocol'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from './command.js'
import { at, serve, type RunningGateway } from './gateways.js'

/** The settings are a program, and a kind is code: both print, as somebody who looks for a mistake lets them do. */
const SETTINGS = `import { defineConfig, defineInteraction, z } from 'askback/config'
console.log('noise at the start')
console.table([{ noise: 1 }])
const timeSlot = defineInteraction({
  kind: 'time_slot',
  presentation: 'questionnaire',
  request: z.object({ slots: z.array(z.string()) }),
  answer: z.object({ slot: z.string() }),
  settle({ slots }, answer) {
    console.info('noise of a kind')
    if (!slots.includes(answer.slot)) return { errors: { slot: 'It is not one of the slots.' } }
    return { settlement: 'answered', answer }
  },
})
export default defineConfig({ kinds: [timeSlot] })
`

/** A data folder with the settings; `set(false)` removes them. */
function folderWithKind(): { data: string; set: (isThere: boolean) => void } {
  const data = newFolder()
  const file = join(data, 'askback.config.ts')
  const set = (isThere: boolean) => (isThere ? writeFileSync(file, SETTINGS) : rmSync(file))
  set(true)
  return { data, set }
}

async function ask(gateway: RunningGateway): Promise<Interaction> {
  const { body } = await gateway.call<{ interaction: Interaction }>(
    'POST',
    `/api/sessions/${await gateway.session()}/interactions`,
    {
      body: { kind: 'time_slot', toolCallId: 'slot', request: { slots: ['Mon', 'Tue'] } },
      as: gateway.ready.agentToken,
    },
  )
  return body.interaction
}

const answer = (gateway: RunningGateway, item: Interaction, given: unknown) =>
  gateway.call('POST', `${at(item)}/response`, { body: { answer: given } })
const read = async (gateway: RunningGateway, item: Interaction) =>
  (await gateway.call<{ interaction: Interaction }>('GET', at(item))).body.interaction

it('prints what the settings and their kinds print on stderr, since programs read stdout', async () => {
  const gateway = await serve(folderWithKind())
  const item = await ask(gateway)
  expect(await answer(gateway, item, { slot: 'Tue' })).toMatchObject({ status: 200 })
  await gateway.stop('SIGTERM')
  const { stdout, stderr } = gateway.command
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  expect(stderr).toContain('noise at the start')
  expect(stderr).toContain('noise of a kind')
})

it('keeps a request whose kind was removed pending until the kind is back', async () => {
  const { data, set } = folderWithKind()
  const before = await serve({ data })
  const item = await ask(before)
  for (const wrong of [
    { slot: 5 },
    { slot: ['Mon'] },
    'Mon',
    null,
    JSON.parse('{"__proto__":{"slot":"Mon"}}'),
  ])
    expect((await answer(before, item, wrong)).status).toBe(400)
  expect(await read(before, item)).toMatchObject({ status: 'pending' })
  await before.stop('SIGTERM')

  set(false)
  const without = await serve({ data })
  expect(await answer(without, item, { slot: 'Mon' })).toMatchObject({
    body: { error: { code: 'unknown_kind' } },
  })
  expect((await without.call('GET', `${at(item)}/prompt`)).body).toMatchObject({ prompt: null })
  expect(await read(without, item)).toMatchObject({ status: 'pending' })
  await without.stop('SIGTERM')

  set(true)
  const after = await serve({ data })
  expect((await after.call('GET', `${at(item)}/prompt`)).body).toMatchObject({
    prompt: { title: 'Time slot' },
  })
  expect(await answer(after, item, { slot: 'Mon' })).toMatchObject({ status: 200 })
  expect(await read(after, item)).toMatchObject({ settlement: 'answered', answer: { slot: 'Mon' } })
})
