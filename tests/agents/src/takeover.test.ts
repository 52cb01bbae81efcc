import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { claudeAgent } from '@askback/agents/claude'
import { codexAgent } from '@askback/agents/codex'
import type { AgentAdapter } from '@askback/core'
import type { EventOf, Interaction, SessionEvent } from '@askback/protocol'
import { startPostgres, type PostgresServer } from '@askback/store-postgres/testing'
import { Command } from '../../e2e/http/command.js'
import { RunningGateway } from '../../e2e/http/gateways.js'
import { bundleChild } from './child-bundle.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { claudeEnv } from './claude-session.js'
import { clusterMember } from './cluster-member.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codex, codexEnv, codexHome, run } from './codex-session.js'
import { eventually } from './eventually.js'
import { folderOf } from './folders.js'
import { pendingAt } from './outside-gateway.js'
import { programsOf } from './processes.js'

const cleanups: (() => Promise<void>)[] = []
let postgres: PostgresServer
let child: { file: string; remove: () => Promise<void> }
let claude: ClaudeEndpoint
let openai: CodexEndpoint
beforeAll(async () => {
  postgres = await startPostgres()
  child = await bundleChild(new URL('takeover-child.ts', import.meta.url))
  claude = await startClaudeEndpoint()
  openai = await startCodexEndpoint()
})
afterEach(() => expect([...claude.problems, ...openai.problems]).toEqual([]))
afterAll(async () => {
  await Promise.all(cleanups.map((cleanup) => cleanup()))
  await child.remove()
  await claude.close()
  await openai.close()
  await postgres.remove()
})

const approve = { decision: 'approve' }
const bash = (command: string) => ({ tool: 'Bash', input: { command, description: 'Runs' } })

interface AgentSetup {
  /** The environment of the program, on both gateways. */
  env: Record<string, string>
  agent: string
  adapter: AgentAdapter
  home: string
}

async function claudeSetup(): Promise<AgentSetup> {
  const home = await folderOf('home')
  const env = claudeEnv(claude.url, home)
  return { env, agent: 'claude', adapter: claudeAgent({ env, sdk: () => Promise.resolve(sdk) }), home }
}

/** The transcripts of all conversations of its program. */
async function transcriptsOf({ home }: AgentSetup): Promise<string> {
  const folder = join(home, '.claude/projects')
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  const files = names.filter((name) => name.endsWith('.jsonl'))
  return (await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))).join('')
}

async function codexSetup(): Promise<AgentSetup> {
  const home = await codexHome(openai.url)
  const env = codexEnv(home)
  return { env, agent: codex, adapter: codexAgent({ env, executable: codex }), home }
}

/** A gateway in a process of its own, which runs the agent until an event comes, and another one in this process. */
async function twoGateways(text: string, setup: AgentSetup, until: SessionEvent['type']) {
  const cwd = await folderOf('work')
  const name = `t${Math.random().toString(36).slice(2)}`
  const url = postgres.url({ database: name })
  await sql(`CREATE DATABASE ${name}`)
  const errors: unknown[] = []
  const here = await clusterMember(url, setup.adapter, (error) => errors.push(error))
  cleanups.push(() => here.close())
  const there = spawn(process.execPath, [child.file, url, setup.agent, cwd, text], {
    env: setup.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  cleanups.push(() => kill(there))
  const lines = createInterface({ input: there.stdout })
  let sessionId = ''
  for await (const line of lines) {
    sessionId ||= line
    if (line === until) break
  }

  const events = () => here.store.read({ sessionId, limit: 1000 })
  const of = async <Type extends SessionEvent['type']>(type: Type) =>
    (await events()).filter((event): event is EventOf<Type> => event.type === type)
  return {
    cwd,
    there,
    errors,
    of,
    events,
    pending: async () => (await here.host.desk.pending({ sessionId })).interactions,
    answer: (item: Interaction, answer: unknown) =>
      here.host.desk
        .as({ by: { id: 'me' }, via: 'direct' })
        .respond({ sessionId, interactionId: item.interactionId, answer }),
    ended: () => eventually(async () => expect(await of('turn_ended')).toMatchObject([{ reason: 'done' }])),
    ran: () => readFile(join(cwd, 'ran'), 'utf8').catch(() => ''),
  }
}

describe.concurrent('another gateway takes over Claude', () => {
  it('[L10] from one that was killed with a pending approval: the approval lets the call run once', async () => {
    const call = bash('echo once >> ran')
    claude.add(
      { when: 'let it run over there', steps: [{ say: [call] }] },
      {
        when: 'echo once >> ran',
        steps: [{ expects: ['approved Bash', 'has not run'], say: [call] }, { say: [{ text: 'It ran.' }] }],
      },
    )
    const setup = await claudeSetup()
    const both = await twoGateways('let it run over there', setup, 'interaction_request')
    // Claude Code writes the transcript a moment later. Without it the conversation would be lost.
    await eventually(async () => expect(await transcriptsOf(setup)).toContain('let it run over there'))
    await kill(both.there)
    const [item] = await both.pending()
    await both.answer(item!, approve)
    await both.ended()
    expect(await both.ran()).toBe('once\n')
    expect((await both.of('error'))[0]!.message).toContain('Another one has taken over')
    expect(await both.of('interaction_delivered')).toHaveLength(1)
    expect(await both.of('agent_session')).toHaveLength(1)
    expect(both.errors).toEqual([])
  })

  it('[L10] from one that froze: what its program did is in doubt, and what it reports later is ignored', async () => {
    const call = bash('echo once >> ran && until [ -e go ]; do sleep 0.1; done; echo late >> ran')
    claude.add(
      { when: 'freeze in the middle', steps: [{ say: [call] }, { say: [{ text: 'It is through.' }] }] },
      {
        when: 'ran && until',
        steps: [{ expects: ['may have run already'], say: [{ text: 'I will look.' }] }],
      },
    )
    const setup = await claudeSetup()
    const both = await twoGateways('freeze in the middle', setup, 'interaction_request')
    const [item] = await both.pending()
    await both.answer(item!, approve)
    await eventually(async () => expect(await both.ran()).toBe('once\n'))
    both.there.kill('SIGSTOP')
    await both.ended()
    both.there.kill('SIGCONT')
    await writeFile(join(both.cwd, 'go'), '')
    // The frozen gateway ends its program when it learns that it lost the session.
    await eventually(() => expect(programsOf(setup.home, 'claude')).toHaveLength(1))
    expect((await both.of('text')).map(({ text }) => text)).toEqual(['I will look.'])
    expect(await both.ran()).not.toContain('once\nonce')
    expect(await both.of('interaction_delivered')).toHaveLength(1)
  })

  it('and reports that the conversation is lost if its transcript is not shared', async () => {
    const call = bash('echo once >>ran')
    claude.add(
      { when: 'not shared', steps: [{ say: [call] }] },
      {
        when: 'echo once >>ran',
        steps: [{ expects: ['has not run'], say: [call] }, { say: [{ text: 'It ran.' }] }],
      },
    )
    const [one, other] = [await claudeSetup(), await claudeSetup()]
    const both = await twoGateways('not shared', { ...one, adapter: other.adapter }, 'interaction_request')
    await kill(both.there)
    const [item] = await both.pending()
    await both.answer(item!, approve)
    await both.ended()
    expect((await both.of('error')).map(({ message }) => message).join('\n')).toMatch(/earlier conversation/)
    expect(await both.ran()).toBe('once\n')
  })
})

describe.concurrent('another gateway takes over Codex', () => {
  it('[L10] from one that was killed with a pending approval: the approval lets the call run once', async () => {
    const call = run('echo once >> ran')
    openai.add(
      { when: 'let it run over there', steps: [{ say: [call] }] },
      {
        when: 'You were stopped',
        steps: [{ expects: ['has not run'], say: [call] }, { say: [{ text: 'It ran.' }] }],
      },
    )
    const both = await twoGateways('let it run over there', await codexSetup(), 'interaction_request')
    await kill(both.there)
    const [item] = await both.pending()
    await both.answer(item!, approve)
    await both.ended()
    expect(await both.ran()).toBe('once\n')
    expect((await both.of('error'))[0]!.message).toContain('Another one has taken over')
    expect(await both.of('interaction_delivered')).toHaveLength(1)
  })
})

it('a killed gateway of a cluster leaves no Codex running, which would work beside that of another gateway', async () => {
  const when = 'wait for me, all of you'
  openai.add({ when, steps: [{ say: [run('touch never')] }] })
  const home = await codexHome(openai.url)
  const data = await folderOf('data')
  const PATH = `${dirname(codex)}:${process.env['PATH']}`
  const args = ['serve', '--port', '0', '--data', data, '--json', '--store', postgres.url()]
  const command = new Command(args, { ...codexEnv(home), PATH })
  cleanups.push(async () => void (await command.kill('SIGKILL')))
  const gateway = new RunningGateway(command, data, await command.ready())
  const body = { agent: 'codex', cwd: await folderOf('work') }
  const made = await gateway.call<{ session: { id: string } }>('POST', '/api/sessions', { body })
  const { id } = made.body.session
  await gateway.call('POST', `/api/sessions/${id}/messages`, { body: { text: when } })
  await pendingAt(gateway)
  expect(programsOf(home, 'codex')).not.toEqual([])
  await command.kill('SIGKILL')
  await eventually(() => expect(programsOf(home)).toEqual([]))
})

async function kill(gateway: ChildProcess): Promise<void> {
  if (gateway.exitCode !== null || gateway.signalCode !== null) return
  const exited = once(gateway, 'exit')
  gateway.kill('SIGKILL')
  await exited
}

async function sql(text: string): Promise<void> {
  const { Client } = await import('pg')
  const client = new Client(postgres.url())
  await client.connect()
  await client.query(text)
  await client.end()
}
