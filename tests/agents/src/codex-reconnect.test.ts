import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { PermissionMode } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { WebSocket } from 'ws'
import { me } from './agent-session.js'
import { startCodexEndpoint, type CodexEndpoint } from './codex-endpoint.js'
import { codex, codexEnv, codexHome, codexSession, run, runForever } from './codex-session.js'
import { eventually } from './eventually.js'
import { folderOf } from './folders.js'
import type { ChildOptions } from './gateway-child.js'
import { killedGateways, type KilledGateways } from './killed-gateway.js'
import { programsOf } from './processes.js'

let gateways: KilledGateways
let endpoint: CodexEndpoint
beforeAll(async () => {
  gateways = await killedGateways()
  endpoint = await startCodexEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(async () => {
  await gateways.close()
  await endpoint.close()
})

/** When the gateway is killed. */
type KillMoment = Pick<ChildOptions, 'type' | 'answer'> & {
  mode?: PermissionMode
  /** A file in the session's folder that must exist, too. */
  file?: string
}

const whileRunning: KillMoment = { type: 'tool_call', mode: 'bypassPermissions', file: 'started' }

/** A gateway that is killed at this moment, while its Codex continues. */
async function killedAt(text: string, { file, ...moment }: KillMoment, detachedSeconds = 60) {
  const home = await codexHome(endpoint.url)
  const detachedFolder = await folderOf('running')
  const options = { executable: codex, detachedFolder, detachedSeconds }
  const given = { agent: 'codex', mode: 'default', text, options, ...moment } as const
  const { sessionId, db, cwd, kill } = await gateways.until(given, codexEnv(home))
  if (file !== undefined) await eventually(() => expect(existsSync(join(cwd, file))).toBe(true))
  const [program] = programsOf(home, 'codex')
  await kill()
  return {
    cwd,
    home,
    detachedFolder,
    program,
    /** Another gateway on the same database, which knows the folder of running programs only if `finds`. */
    async next({ finds = true } = {}) {
      const store = sqliteStore({ path: db })
      const agent = finds ? { detachedFolder } : {}
      const session = await codexSession({
        url: endpoint.url,
        before: { store, sessionId, home, cwd },
        agent,
      })
      return {
        ...session,
        async close() {
          await session.close()
          await store.close()
          // A gateway that is closed, not killed, ends its Codex.
          await eventually(() => expect(programsOf(home)).toEqual([]))
          if (finds) await eventually(async () => expect(await readdir(detachedFolder)).toEqual([]))
        },
      }
    },
  }
}

describe.concurrent('a Codex whose gateway is killed', () => {
  it('[L10] continues, and repeats its request to the next gateway, which attaches it to the same card', async () => {
    const when = 'ask, and be cut'
    endpoint.add({
      when,
      steps: [
        { say: [{ text: 'First this.' }, run('echo yes > made')] },
        { expectsNot: [/stopped/], say: [{ text: 'Made it.' }] },
      ],
    })
    const killed = await killedAt(when, { type: 'interaction_request' })
    const session = await killed.next()
    const [item] = await session.pending()
    expect(programsOf(session.home, 'codex')).toContain(killed.program)
    await session.answer(item!, { decision: 'approve' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect(await session.of('interaction_request')).toHaveLength(1)
    expect(await session.of('tool_call')).toHaveLength(1)
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['First this.', 'Made it.'])
    expect(await session.of('error')).toEqual([])
    expect(existsSync(join(killed.cwd, 'made'))).toBe(true)
    expect(endpoint.of(when)).toHaveLength(2)
    await session.close()
  })

  it('runs an approved command to its end, once, and the next gateway gets its result', async () => {
    const when = 'run while nobody looks'
    const cmd = 'echo x >> runs; until test -e go; do sleep 0.1; done; echo that is it'
    endpoint.add({ when, steps: [{ say: [run(cmd)] }, { expects: ['that is it'], say: [{ text: 'Ran.' }] }] })
    const answer = { decision: 'approve' }
    const killed = await killedAt(when, { type: 'interaction_delivered', answer, file: 'runs' })
    const session = await killed.next()
    await writeFile(join(killed.cwd, 'go'), '')
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    const [result] = await session.of('tool_result')
    expect(result).toMatchObject({ isError: false })
    expect(result!.output).toContain('that is it')
    expect(await readFile(join(killed.cwd, 'runs'), 'utf8')).toBe('x\n')
    expect(await session.of('error')).toEqual([])
    await session.close()
  })

  it('and that ends its turn before the next gateway starts is logged completely', async () => {
    const when = 'end while nobody looks'
    const cmd = 'touch started; until test -e go; do sleep 0.1; done'
    endpoint.add({ when, steps: [{ say: [run(cmd)] }, { say: [{ text: 'Nobody saw that.' }] }] })
    const killed = await killedAt(when, whileRunning)
    await writeFile(join(killed.cwd, 'go'), '')
    await eventually(() => expect(endpoint.of(when)).toHaveLength(2))
    const session = await killed.next()
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect(await session.of('tool_result')).toHaveLength(1)
    expect((await session.of('text')).map(({ text }) => text)).toEqual(['Nobody saw that.'])
    await session.close()
  })

  it('shows the diff of a change again, and accepts the next message in its turn', async () => {
    const when = 'patch, and be cut'
    const patch = '*** Begin Patch\n*** Add File: note.txt\n+hello\n*** End Patch\n'
    endpoint.add({
      when,
      steps: [
        { say: [{ tool: 'apply_patch', input: patch }] },
        { expects: ['and be quick'], say: [{ text: 'Patched.' }] },
      ],
    })
    const killed = await killedAt(when, { type: 'interaction_request' })
    const session = await killed.next()
    const [item] = await session.pending()
    await session.say('and be quick')
    await session.answer(item!, { decision: 'approve' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect(await session.of('interaction_request')).toHaveLength(1)
    expect(existsSync(join(killed.cwd, 'note.txt'))).toBe(true)
    await session.close()
  })

  it('can be interrupted by the next gateway', async () => {
    const when = 'run for ever'
    endpoint.add({ when, steps: runForever() })
    const killed = await killedAt(when, whileRunning)
    const session = await killed.next()
    await session.host.as(me).interrupt(session.sessionId)
    expect(await session.of('turn_ended')).toMatchObject([{ reason: 'interrupted' }])
    await session.close()
  })

  it('refuses connections without its token, which only its owner can read', async () => {
    const when = 'wait for a stranger'
    endpoint.add({ when, steps: [{ say: [run('touch never')] }] })
    const killed = await killedAt(when, { type: 'interaction_request' })
    const record = join(killed.detachedFolder, (await readdir(killed.detachedFolder))[0]!, 'record.json')
    expect((await stat(record)).mode & 0o077).toBe(0)
    const { address } = JSON.parse(await readFile(record, 'utf8')) as { address: string }
    const [url, token] = address.split('#')
    for (const headers of [{}, { authorization: `Bearer ${token!.slice(1)}0` }]) {
      const socket = new WebSocket(url!, { headers })
      const [error] = (await once(socket, 'error')) as [Error]
      expect(error.message).toContain('401')
    }
    const session = await killed.next()
    await session.close()
  })

  it('[L10] ends by itself, with its shells, if no other gateway starts in time: what it ran is in doubt', async () => {
    const when = 'run for nobody'
    endpoint.add(
      { when, steps: runForever(' # unattended') },
      { when: '# unattended', steps: [{ expects: ['may have run'], say: [{ text: 'I will look.' }] }] },
    )
    const killed = await killedAt(when, whileRunning, 2)
    await eventually(() => expect(programsOf(killed.home, 'codex')).toEqual([]))
    const session = await killed.next()
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect((await session.of('error'))[0]).toMatchObject({ code: 'agent_lost' })
    await session.close()
  })

  it('[L10] is killed by a gateway that does not know its folder, and the answer continues the thread', async () => {
    const when = 'ask, and be cut off'
    endpoint.add(
      { when, steps: [{ say: [run('touch once')] }] },
      { when: 'You were stopped', steps: [{ say: [run('touch once')] }, { say: [{ text: 'Once.' }] }] },
    )
    const killed = await killedAt(when, { type: 'interaction_request' })
    const session = await killed.next({ finds: false })
    const [item] = await session.pending()
    await session.answer(item!, { decision: 'approve' })
    expect(await session.until('turn_ended')).toMatchObject([{ reason: 'done' }])
    expect(programsOf(session.home, 'codex')).not.toContain(killed.program)
    expect((await session.of('error'))[0]).toMatchObject({ code: 'agent_lost' })
    await session.close()
  })
})
