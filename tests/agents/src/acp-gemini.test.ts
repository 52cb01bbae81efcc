import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { InteractionOf } from '@askback/protocol'
import { acpSession, type AcpSessionOptions } from './acp-session.js'
import { me } from './agent-session.js'
import { startGeminiEndpoint, type GeminiEndpoint } from './gemini-endpoint.js'
import type { Scenario } from './scenario.js'

let endpoint: GeminiEndpoint
beforeAll(async () => {
  endpoint = await startGeminiEndpoint({ when: 'say hello', steps: [{ say: [{ text: 'Hello.' }] }] })
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(() => endpoint.close())

/** A session with the real Gemini CLI, whose model is scripted. */
const startSession = (options: AcpSessionOptions = {}) =>
  acpSession({
    command: [join(import.meta.dirname, '../node_modules/.bin/gemini'), '--acp', '-m', 'gemini-2.5-pro'],
    env: (home) => ({
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: home,
      GEMINI_API_KEY: 'none',
      GOOGLE_GEMINI_BASE_URL: endpoint.url,
    }),
    ...options,
  })

const shell = (command: string) => ({ tool: 'run_shell_command', input: { command, description: 'Runs' } })

it('streams its texts, uses the chosen model, and knows its conversation after a restart', async () => {
  endpoint.add({ when: 'and again', steps: [{ say: [{ text: 'Hello again.' }] }] })
  const session = await startSession({ agent: { model: 'gemini-3.8-flash' } })
  await session.say('say hello')
  await session.until('turn_ended')
  expect((await session.of('text')).map(({ text }) => text)).toEqual(['Hello.'])
  expect(endpoint.of('say hello').at(-1)).toMatchObject({ model: 'gemini-3.8-flash' })
  await session.close()
  const later = await startSession({ before: session })
  await later.say('and again')
  await later.until('turn_ended', 2)
  expect(JSON.stringify(endpoint.of('and again'))).toContain('say hello')
  // This version of Gemini cannot load the session of an ended process, so it gets the record of ours.
  expect(await later.of('error')).toMatchObject([{ code: 'agent_lost', fatal: false }])
  await later.close()
})

it('asks for permission with the whole command, and runs only what is approved', async () => {
  for (const decision of ['approve', 'deny']) {
    const when = `touch something, ${decision}`
    const call = shell(`touch ${decision}d`)
    endpoint.add({ when, steps: [{ say: [call] }, { say: [{ text: 'Done.' }] }] })
    const session = await startSession()
    await session.say(when)
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'approval', request: { input: { title: `touch ${decision}d` } } })
    expect((await session.of('tool_call'))[0]).toMatchObject({ toolCallId: item!.toolCallId })
    await session.answer(item!, { decision })
    await session.until('turn_ended')
    expect(existsSync(join(session.cwd, `${decision}d`))).toBe(decision === 'approve')
    await session.close()
  }
})

it('is interrupted while its request is pending', async () => {
  endpoint.add({ when: 'touch and wait', steps: [{ say: [shell('touch never')] }] })
  const session = await startSession()
  await session.say('touch and wait')
  await session.pending()
  await session.host.as(me).interrupt(session.sessionId)
  expect((await session.of('turn_ended'))[0]).toMatchObject({ reason: 'interrupted' })
  await session.say('say hello')
  expect((await session.until('turn_ended', 2))[1]).toMatchObject({ reason: 'done' })
  expect(existsSync(join(session.cwd, 'never'))).toBe(false)
  await session.close()
})

describe('a plan, of which Gemini says only the path', () => {
  const planned = (when: string): Scenario => ({
    when,
    steps: [
      { say: [{ tool: 'write_file', input: { file_path: 'plan.md', content: '# Write a note' } }] },
      { say: [{ tool: 'exit_plan_mode', input: { plan_filename: 'plan.md' } }] },
      { say: [{ text: 'On it.' }] },
    ],
  })

  it('is shown as the text in that file, and carried out when it is approved', async () => {
    endpoint.add(planned('plan a note'))
    const session = await startSession({ mode: 'plan' })
    await session.say('plan a note')
    const [item] = await session.pending()
    expect(item).toMatchObject({ kind: 'plan_review', request: { plan: '# Write a note' } })
    await session.answer(item!, { decision: 'edit' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['On it.'])
    expect(await session.mode()).toBe('acceptEdits')
    await session.close()
  })

  it('is reviewed again if the file changes while it is reviewed', async () => {
    endpoint.add(planned('plan another note'))
    const session = await startSession({ mode: 'plan' })
    await session.say('plan another note')
    const [first] = await session.pending()
    const { planFilePath } = (first as InteractionOf<'plan_review'>).request
    await writeFile(planFilePath!, '# Delete everything')
    await session.answer(first!, { decision: 'edit' })
    await session.until('interaction_request', 2)
    const [second] = await session.pending()
    expect(second).toMatchObject({ kind: 'plan_review', request: { plan: '# Delete everything' } })
    endpoint.add({ when: 'The user wants the plan changed', steps: [{ say: [{ text: 'Sorry.' }] }] })
    await session.answer(second!, { decision: 'adjust', feedback: 'no' })
    await session.until('turn_ended')
    await session.close()
  })
})
