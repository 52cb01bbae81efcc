import { chmod, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createClient, HttpTransport, layout, type Client } from '@askback/client'
import { draw } from '@askback/client/testing'
import { stateFromJson, type Interaction, type QuestionRequest, type Session } from '@askback/protocol'
import { Command, file, newFolder, type Ready } from '../../e2e/http/command.js'
import { eventually } from './eventually.js'
import { folderOf } from './folders.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codex, codexEnv, codexHome, run } from './codex-session.js'

let endpoint: CodexEndpoint
let gateway: Command
let ready: Ready
let client: Client
/** The path of a command `askback` for scripts in shells. */
let askback: string

beforeAll(async () => {
  endpoint = await startCodexEndpoint()
  const bin = newFolder()
  askback = join(bin, 'askback')
  await writeFile(askback, `#!/bin/sh\nexec "${process.execPath}" "${file}" "$@"\n`)
  await chmod(askback, 0o755)
  const home = await codexHome(endpoint.url, '[features]\ncode_mode = true\n')
  const env = codexEnv(home)
  const path = [dirname(codex), dirname(process.execPath), env['PATH']].join(':')
  const data = newFolder()
  // Without this option no script in the sandbox reaches Askback.
  await writeFile(join(data, 'config.json'), '{ "agents": { "codex": { "networkAccess": true } } }')
  gateway = new Command(['serve', '--port', '0', '--data', data, '--json'], { ...env, PATH: path })
  ready = await gateway.ready()
  client = createClient(new HttpTransport({ baseUrl: ready.url, token: ready.token }))
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(async () => {
  client.close()
  // If it were killed, its Codex would continue for a while.
  await gateway.kill('SIGTERM')
  await endpoint.close()
})

const ask = (question: string) => `${askback} ask "${question}" --option Red --option Blue`
const done = { say: [{ text: 'Done.' }] }

/** A session of the agent, which has got this message. */
async function startSession(agent: string, text: string) {
  const mode = agent === 'codex' ? { permissionMode: 'bypassPermissions' } : {}
  const body = { agent, cwd: await folderOf('work'), ...mode }
  const { session } = await post<{ session: Session }>('/api/sessions', body)
  const store = client.session(session.id)
  const off = store.subscribe(() => {})
  await post(`/api/sessions/${session.id}/messages`, { text })
  const drawn = () => draw(layout(store.getSnapshot().state!))
  /** The same after a reload. */
  const redrawn = async () => draw(layout(stateFromJson((await client.transport.snapshot(session.id)).state)))
  return {
    id: session.id,
    drawn,
    redrawn,
    asked: async (count: number): Promise<Interaction[]> => {
      const questions = () =>
        [...(store.getSnapshot().state?.interactions.values() ?? [])].filter(
          (item) => item.kind === 'question' && item.status === 'pending',
        )
      await eventually(() => {
        if (questions().length !== count) throw new Error(`${questions().length} asked: ${drawn()}`)
      })
      return questions()
    },
    /** Which command each tool call runs. */
    commandOf: (toolCallId: string) =>
      JSON.stringify(store.getSnapshot().state?.toolCalls.get(toolCallId)?.input),
    answer: (item: Interaction, label: string) =>
      post(`/api/sessions/${session.id}/interactions/${item.interactionId}/response`, {
        answer: { answers: [{ selected: [label] }] },
      }),
    ended: async () => {
      await eventually(() => expect(store.getSnapshot().layout?.turns.at(-1)?.reason).toBe('done'))
      await eventually(async () => expect(await redrawn()).toBe(drawn()))
      off()
    },
  }
}

async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${ready.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ready.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(text)
  return JSON.parse(text) as T
}

function questionIn({ request }: Interaction): string {
  return (request as QuestionRequest).questions[0]!.question
}

/** Expects the card right below the block of its call, live and after a reload. */
async function expectAtItsCall(
  session: Awaited<ReturnType<typeof startSession>>,
  item: Interaction,
): Promise<void> {
  // The question, its call and the input of the call may arrive in any order.
  await eventually(async () => {
    expect(session.commandOf(item.toolCallId)).toContain(questionIn(item))
    expect(await session.redrawn()).toBe(session.drawn())
  })
  const lines = session.drawn().split('\n')
  const call = lines.findIndex((line) => line.trim().startsWith(`call ${item.toolCallId} waiting`))
  const card = lines.findIndex((line) => line.trim() === `question ${item.interactionId} open`)
  expect(call).toBeGreaterThan(0)
  const between = lines.slice(call + 1, card)
  expect(between.filter((line) => !/^\s+(question|approval) /.test(line))).toEqual([])
  const [turn] = lines
  expect(turn).toMatch(/^turn /)
  expect(lines.filter((line) => line.startsWith('turn '))).toHaveLength(1)
}

describe.concurrent.each(['codex', 'codex-exec'])('a script in the shell of %s', (agent) => {
  it('asks at its own tool call, and its output has the answer', async () => {
    const when = `ask once in ${agent}`
    endpoint.add({ when, steps: [{ say: [run(ask('Which one?'))] }, { expects: [/Blue/], ...done }] })
    const session = await startSession(agent, when)
    const [item] = await session.asked(1)
    await expectAtItsCall(session, item!)
    await session.answer(item!, 'Blue')
    await session.ended()
    expect(session.drawn()).toContain(`call ${item!.toolCallId} done`)
  })

  it('asks twice at once in one command', async () => {
    const when = `ask twice in one command of ${agent}`
    const both = `${ask('First?')} & ${ask('Second?')} & wait`
    endpoint.add({ when, steps: [{ say: [run(both)] }, { expects: [/Red/, /Blue/], ...done }] })
    const session = await startSession(agent, when)
    const items = await session.asked(2)
    expect(new Set(items.map(({ toolCallId }) => toolCallId)).size).toBe(1)
    for (const item of items) await expectAtItsCall(session, item)
    await session.answer(items[0]!, 'Red')
    await session.answer(items[1]!, 'Blue')
    await session.ended()
  })

  it('asks at once in two commands, each at its own call', async () => {
    const when = `ask in two commands of ${agent}`
    const say = [run(ask('Left?')), run(ask('Right?'))]
    endpoint.add({ when, steps: [{ say }, { expects: [/Red/, /Blue/], ...done }] })
    const session = await startSession(agent, when)
    const items = await session.asked(2)
    expect(new Set(items.map(({ toolCallId }) => toolCallId)).size).toBe(2)
    for (const item of items) await expectAtItsCall(session, item)
    await session.answer(items[0]!, 'Red')
    await session.answer(items[1]!, 'Blue')
    await session.ended()
  })

  it('asks from inside code mode', async () => {
    const when = `ask in code mode of ${agent}`
    const script = `const r = await tools.exec_command(${JSON.stringify(run(ask('Inside?')).input)}); text(JSON.stringify(r))`
    endpoint.add({
      when,
      steps: [{ say: [{ tool: 'exec', input: script }] }, { expects: [/Blue/], ...done }],
    })
    const session = await startSession(agent, when)
    const [item] = await session.asked(1)
    await expectAtItsCall(session, item!)
    await session.answer(item!, 'Blue')
    await session.ended()
    expect(session.drawn()).toContain(`call ${item!.toolCallId} done`)
  })
})

describe.concurrent('an answer that takes longer than the 10 s that Codex waits for a command', () => {
  const LONGER_THAN_CODEX_WAITS_MS = 11_000
  const askWithoutYieldTime = () => ({ tool: 'exec_command', input: { cmd: ask('Slowly?') } })

  it('is waited for by the app-server, whose clock is paused', async () => {
    const when = 'ask for long in codex'
    const steps = [
      { say: [askWithoutYieldTime()] },
      { expects: [/Blue/], expectsNot: [/running with session/], ...done },
    ]
    endpoint.add({ when, steps })
    const session = await startSession('codex', when)
    const [item] = await session.asked(1)
    await sleep(LONGER_THAN_CODEX_WAITS_MS)
    expect(endpoint.of(when)).toHaveLength(1)
    await expectAtItsCall(session, item!)
    await session.answer(item!, 'Blue')
    await session.ended()
    expect(session.drawn()).toContain(`call ${item!.toolCallId} done`)
  })

  it('is polled by the model of codex exec, and appears at the same call', async () => {
    const when = 'ask for long in codex-exec'
    const poll = {
      tool: 'write_stdin',
      input: { session_id: '{{#session}}', chars: '', yield_time_ms: 30_000 },
    }
    endpoint.add({
      when,
      find: { session: /running with session ID (\d+)/ },
      steps: [
        { say: [askWithoutYieldTime()] },
        { expects: [/running with session/], say: [poll] },
        { expects: [/Blue/], ...done },
      ],
    })
    const session = await startSession('codex-exec', when)
    const [item] = await session.asked(1)
    await eventually(() => expect(endpoint.of(when)).toHaveLength(2))
    await expectAtItsCall(session, item!)
    await session.answer(item!, 'Blue')
    await session.ended()
    expect(session.drawn()).toContain(`call ${item!.toolCallId} done`)
  })
})
