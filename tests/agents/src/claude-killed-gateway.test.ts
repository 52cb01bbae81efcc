import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { SessionEvent } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { eventually } from './eventually.js'
import { folderOf } from './folders.js'
import { claudeEnv, claudeSession } from './claude-session.js'
import type { ChildOptions } from './gateway-child.js'
import { killedGateways, type KilledGateways } from './killed-gateway.js'
import { programsOf } from './processes.js'

let gateways: KilledGateways
let endpoint: ClaudeEndpoint
beforeAll(async () => {
  gateways = await killedGateways()
  endpoint = await startClaudeEndpoint()
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(async () => {
  await gateways.close()
  await endpoint.close()
})

/** When the gateway is killed. */
type KillMoment = Omit<ChildOptions, 'agent' | 'db' | 'cwd' | 'text'>

async function gatewayUntil(text: string, moment: KillMoment) {
  const home = await folderOf('home')
  const options = { agent: 'claude', text, ...moment } as const
  const { sessionId, db, cwd, kill } = await gateways.until(options, claudeEnv(endpoint.url, home))
  return {
    home,
    kill,
    /** Another gateway on the same database. */
    async next() {
      const store = sqliteStore({ path: db })
      const session = await claudeSession({ url: endpoint.url, before: { store, sessionId, home, cwd } })
      return { ...session, close: () => session.close().then(() => store.close()) }
    },
  }
}

describe.concurrent('a killed gateway', () => {
  it('leaves no program running and invents no answer, and the next one on its database continues', async () => {
    const options = ['Stay', 'Leave'].map((label) => ({ label, description: label }))
    const questions = [{ header: 'Now', question: 'And after the crash?', options, multiSelect: false }]
    const forever = { command: 'setsid tail -f /dev/null', description: 'Runs', run_in_background: true }
    endpoint.add(
      {
        when: 'ask before the crash',
        steps: [
          { say: [{ tool: 'Bash', input: forever }] },
          { say: [{ tool: 'AskUserQuestion', input: { questions } }] },
        ],
      },
      { when: 'And after the crash?', steps: [{ expects: ['"Leave"'], say: [{ text: 'I leave.' }] }] },
    )
    const type = 'interaction_request'
    const gateway = await gatewayUntil('ask before the crash', { mode: 'bypassPermissions', type, times: 2 })
    // Claude Code reports the background shell before it runs.
    await eventually(() => expect(programsOf(gateway.home, 'tail')).toHaveLength(1))
    await gateway.kill()
    // The program ends with its gateway. Otherwise it would tell its model that the user refused.
    await eventually(() => expect(programsOf(gateway.home, 'claude')).toEqual([]))
    expect(endpoint.of('ask before the crash')).toHaveLength(2)

    const next = await gateway.next()
    // The shells are killed at the start, before anybody answers.
    await eventually(() => expect(programsOf(gateway.home)).toEqual([]))
    const [item] = await next.pending()
    await next.answer(item!, { answers: [{ selected: ['Leave'] }] })
    expect((await next.until('turn_ended'))[0]).toMatchObject({ reason: 'done' })
    await next.close()
    await eventually(() => expect(programsOf(gateway.home)).toEqual([]))
  })

  it('leaves no process running of a session whose turn had ended', async () => {
    const forever = { command: 'setsid tail -f /dev/null', description: 'Runs', run_in_background: true }
    endpoint.add({
      when: 'leave it running',
      steps: [{ say: [{ tool: 'Bash', input: forever }] }, { say: [{ text: 'It runs.' }] }],
    })
    const gateway = await gatewayUntil('leave it running', { mode: 'bypassPermissions', type: 'turn_ended' })
    await eventually(() => expect(programsOf(gateway.home, 'tail')).toHaveLength(1))
    await gateway.kill()
    // `setsid` puts it outside the group, so it runs until the next gateway on this machine starts.
    const next = await gateway.next()
    await eventually(() => expect(programsOf(gateway.home)).toEqual([]))
    await next.close()
  })

  it.each<[string, SessionEvent['type'], number]>([
    ['the answer', 'interaction_response', 1],
    ['the end of the old context', 'context_cleared', 1],
    ['the start of the new one', 'agent_session', 2],
  ])(
    'right after %s carries the plan out in a fresh context when it is restarted',
    async (name, type, times) => {
      const when = `plan cut after ${name}`
      const plan = `# Plan ${when}`
      const write = { tool: 'Write', input: { file_path: '{{PLAN}}', content: plan } }
      endpoint.add(
        {
          when,
          find: { PLAN: /(\/\S+\/plans\/\S+?\.md)/ },
          steps: [{ say: [write] }, { say: [{ tool: 'ExitPlanMode', input: {} }] }],
        },
        { when: plan, steps: [{ expects: ['approved this plan', plan], say: [{ text: 'Fresh.' }] }] },
      )
      const gateway = await gatewayUntil(when, {
        mode: 'plan',
        type,
        times,
        dies: true,
        answer: { decision: 'clean_edit' },
      })
      await gateway.kill()
      const next = await gateway.next()
      expect(await next.until('turn_ended')).toMatchObject([{ reason: 'done' }])
      expect(await next.of('text')).toMatchObject([{ text: 'Fresh.' }])
      expect(await next.of('context_cleared')).not.toEqual([])
      expect(endpoint.of(when)).toHaveLength(2)
      for (const { messages } of endpoint.of(plan))
        expect(JSON.stringify(messages)).not.toContain('"tool_use"')
      expect(await next.mode()).toBe('acceptEdits')
      await next.close()
    },
  )
})
