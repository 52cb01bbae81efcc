import { fileURLToPath } from 'node:url'
import { query } from '@anthropic-ai/claude-agent-sdk'
import { createClaudeHooks } from '@askback/agents/claude'
import { createDesk, defineInteraction, memoryStore } from '@askback/core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv, claudeSession, me } from './claude-session.js'
import { folderOf } from './folders.js'

let endpoint: ClaudeEndpoint
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

const hotel = {
  command: process.execPath,
  args: [fileURLToPath(new URL('hotel.mjs', import.meta.url))],
}

const timeSlot = defineInteraction({
  kind: 'time_slot',
  presentation: 'questionnaire',
  request: z.object({ slots: z.array(z.string()).min(1) }),
  answer: z.object({ slot: z.string() }),
})

/** The tool of the hotel returns the arguments that it was called with. */
const TOOL = 'mcp__hotel__WakeUpCall'
const input = { slots: ['6:00', '7:00'] }

function addCall(when: string, given: Record<string, unknown>, expects: (string | RegExp)[]) {
  endpoint.add({
    when,
    steps: [{ say: [{ tool: TOOL, input: given }] }, { expects, say: [{ text: 'Done.' }] }],
  })
}

describe.concurrent('a tool that is mapped to a kind', () => {
  it('asks with the kind at its tool call, and runs with the answer in its input', async () => {
    const when = 'wake me up'
    addCall(when, input, [/"slots":\["6:00","7:00"\],"slot":"7:00"/])
    const agent = { mcpServers: { hotel }, tools: { WakeUpCall: timeSlot } }
    const session = await claudeSession({ url: endpoint.url, agent, kinds: [timeSlot] })
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'time_slot', toolName: TOOL, request: input })
    await expect(session.answer(item!, { slot: 7 })).rejects.toMatchObject({ code: 'invalid_answer' })
    await session.answer(item!, { slot: '7:00' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect((await session.of('interaction_request')).map(({ kind }) => kind)).toEqual(['time_slot'])
    await session.close()
  })

  it('asks in every mode: no mode answers for a person', async () => {
    const when = 'wake me up in bypass'
    addCall(when, input, [/"slot":"6:00"/])
    const agent = { mcpServers: { hotel }, tools: { [TOOL]: timeSlot } }
    const session = await claudeSession({
      url: endpoint.url,
      agent,
      kinds: [timeSlot],
      mode: 'bypassPermissions',
    })
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'time_slot' })
    await session.answer(item!, { slot: '6:00' })
    await session.until('turn_ended')
    await session.close()
  })

  it('takes functions for the request and for the input', async () => {
    const when = 'wake me up by functions'
    addCall(when, { hours: [6, 7] }, [/"at":"7 o'clock"/])
    const mapped = {
      kind: timeSlot,
      request: (given: Record<string, unknown>) => ({
        slots: (given['hours'] as number[]).map((hour) => `${hour} o'clock`),
      }),
      updatedInput: (_: unknown, answer: unknown) => ({ at: (answer as { slot: string }).slot }),
    }
    const agent = { mcpServers: { hotel }, tools: { WakeUpCall: mapped } }
    const session = await claudeSession({ url: endpoint.url, agent, kinds: [timeSlot] })
    await session.say(when)
    const [item] = await session.pending()
    expect(item!.request).toEqual({ slots: ["6 o'clock", "7 o'clock"] })
    await session.answer(item!, { slot: "7 o'clock" })
    await session.until('turn_ended')
    await session.close()
  })

  it('does not run if nobody decides, and the model reads why', async () => {
    const when = 'wake me up or not'
    addCall(when, input, ['The time slot was cancelled before anybody answered. That is not an answer'])
    const agent = { mcpServers: { hotel }, tools: { WakeUpCall: timeSlot } }
    const session = await claudeSession({ url: endpoint.url, agent, kinds: [timeSlot] })
    await session.say(when)
    const [item] = await session.pending()
    await session.host.desk.cancel({ sessionId: session.sessionId, interactionId: item!.interactionId })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    await session.close()
  })

  it('is refused with a reason for the model if its input does not fit the kind', async () => {
    const when = 'wake me up wrongly'
    addCall(when, { slots: [] }, [/The user could not be asked: .*slots/])
    const agent = { mcpServers: { hotel }, tools: { WakeUpCall: timeSlot } }
    const session = await claudeSession({ url: endpoint.url, agent, kinds: [timeSlot] })
    await session.say(when)
    await session.until('turn_ended')
    expect(await session.of('interaction_request')).toEqual([])
    await session.close()
  })

  it('asks in a query of an embedder, too, even if its own rules allow the tool', async () => {
    const when = 'wake me up myself'
    addCall(when, input, [/"slot":"6:00"/])
    const store = memoryStore()
    const desk = createDesk({ store, kinds: [timeSlot] })
    desk.on(({ events }) => {
      for (const event of events)
        if (event.type === 'interaction_request')
          void desk.as(me).respond({ interactionId: event.interactionId, answer: { slot: '6:00' } })
    })
    const hooks = createClaudeHooks(desk.session('own'), { tools: { WakeUpCall: timeSlot } })
    const options = {
      cwd: await folderOf('work'),
      env: claudeEnv(endpoint.url, await folderOf('home')),
      allowedTools: [TOOL],
      mcpServers: { hotel },
      ...hooks,
    }
    for await (const message of query({ prompt: when, options })) void message
    const requests = (await store.read({ sessionId: 'own', limit: 100 })).filter(
      ({ type }) => type === 'interaction_request',
    )
    expect(requests).toMatchObject([{ kind: 'time_slot', request: input }])
    desk.close()
  })
})
