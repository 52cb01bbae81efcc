import type { Interaction } from '@askback/protocol'
import { startTestGateway, type TestGateway } from '@askback/gateway/testing'
import { person, pick, type ScriptedPerson } from '@askback/testing'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { bundle } from '../durability/bundle.js'
import { Child, ProcessEndedError } from '../durability/child-process.js'
import { nodeForFrameworks } from './node.js'
import type { RunReply, RunRequest, ScriptedCall } from './programs/program.js'

/** What a framework cannot do. */
export interface FrameworkLimits {
  /** It asks about the calls of one step one after the other. */
  asksOneByOne?: true
  /** It cannot run an edited input: the model has to call again. */
  runsNoEdits?: true
  /** A call runs when it is approved, whatever the others of its step wait for. */
  runsEachAtOnce?: true
  /** If one call of a step is denied, the model is asked again, and none of the others runs. */
  denialStopsStep?: true
}

/** Not bundled. The client itself imports `@openai/agents`. */
const FRAMEWORKS = [/^(ai|ai-6|langchain|zod)(\/|$)/, /^@(openai|langchain|mastra)\//]

type Program = Child<RunRequest, RunReply>

/** All that people can answer, and what must hold when the program is killed, for the real framework with a scripted model. */
export function frameworkConforms(program: string, limits: FrameworkLimits = {}): void {
  const running: Program[] = []
  let folder: string
  let file: string
  let gateway: TestGateway
  let ada: ScriptedPerson

  beforeAll(async () => {
    // Below this folder, so that the program finds the frameworks.
    const cache = fileURLToPath(new URL('node_modules/.cache', import.meta.url))
    mkdirSync(cache, { recursive: true })
    folder = mkdtempSync(join(cache, 'askback-'))
    file = await bundle(new URL(`programs/${program}.ts`, import.meta.url), folder, FRAMEWORKS)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  beforeEach(async () => {
    gateway = await startTestGateway()
    ada = person(gateway.host, { name: 'Ada', patience: '60s' })
  })
  afterEach(async () => {
    await Promise.all(running.splice(0).map((child) => child.kill()))
    await ada.leaves()
    await gateway.close()
  })

  function start(): Program {
    const env = {
      ASKBACK_TEST_URL: gateway.url,
      ASKBACK_TEST_TOKEN: gateway.agentToken,
      ASKBACK_TEST_FOLDER: folder,
      OPENAI_API_KEY: 'unused',
      MASTRA_TELEMETRY_DISABLED: '1',
      LANGSMITH_TRACING: 'false',
    }
    const child: Program = new Child(file, env, nodeForFrameworks())
    running.push(child)
    return child
  }

  async function kill(child: Program, run: Promise<RunReply>): Promise<void> {
    const ended = run.catch((error: unknown) => error)
    await child.kill()
    expect(await ended).toBeInstanceOf(ProcessEndedError)
  }

  async function pending(): Promise<Interaction[]> {
    return (await gateway.host.desk.pending()).interactions
  }

  /** How often the tool has run with this version. */
  function runs(version: string): number {
    const list = join(folder, 'runs')
    if (!existsSync(list)) return 0
    return readFileSync(list, 'utf8')
      .split('\n')
      .filter((line) => line === version).length
  }

  it('runs a call that a person approves', async () => {
    const run = start().call({ key: 'approve', calls: [deploys('a')] })
    expect(await ada.approves('deploy')).toMatchObject({
      toolName: 'deploy',
      request: { input: { version: 'a' } },
    })
    expect(textOf(await run)).toContain('deployed a')
    expect(runs('a')).toBe(1)
  })

  it('tells the model why a person has denied a call', async () => {
    const run = start().call({ key: 'deny', calls: [deploys('b')] })
    await ada.denies('deploy', 'Not on a Friday.')
    const text = textOf(await run)
    expect(text).toContain('Ada denied it: Not on a Friday.')
    expect(text).not.toContain('no person denied it')
    expect(runs('b')).toBe(0)
  })

  it('does not call it a denial if nobody answers in time', async () => {
    const run = start().call({ key: 'timeout', calls: [deploys('c')], timeout: 300 })
    expect(textOf(await run)).toContain('no person denied it. Nobody answered in time.')
    expect(runs('c')).toBe(0)
  })

  it(
    limits.runsNoEdits
      ? 'tells the model how a person has edited a call'
      : 'runs a call as a person has edited it',
    async () => {
      const run = start().call({ key: 'edit', calls: [deploys('d')] })
      await ada.answers('deploy', () => ({ decision: 'approve', updatedInput: { version: 'd2' } }))
      const text = textOf(await run)
      expect(runs('d')).toBe(0)
      expect(runs('d2')).toBe(limits.runsNoEdits ? 0 : 1)
      expect(text).toContain(limits.runsNoEdits ? 'd2' : 'deployed d2')
    },
  )

  it('passes the answer to a question on', async () => {
    const input = { question: 'Which region?', choices: ['Europe', 'America'] }
    const run = start().call({ key: 'question', calls: [{ id: 'call_q', tool: 'ask', input }] })
    await ada.answers('Which region?', pick('America'))
    expect(textOf(await run)).toContain('America')
  })

  it('answers each of several calls on its own', async () => {
    const run = start().call({ key: 'several', calls: [deploys('e'), deploys('f')] })
    if (!limits.asksOneByOne) await expect.poll(pending).toHaveLength(2)
    if (limits.asksOneByOne) await ada.approves('e')
    await ada.denies('f', 'Not this one.')
    if (!limits.asksOneByOne) await ada.approves('e')
    const text = textOf(await run)
    expect(text).toContain('Not this one.')
    expect([runs('e'), runs('f')]).toEqual([limits.denialStopsStep ? 0 : 1, 0])
    if (!limits.denialStopsStep) expect(text).toContain('deployed e')
  })

  it('waits for the same request after it was killed, and runs once', async () => {
    const request = { key: 'killed', calls: [deploys('g')] }
    const first = start()
    const run = first.call(request)
    const { interactionId } = await ada.sees('deploy')
    await kill(first, run)
    const again = start().call(request)
    const other = ada.sees((seen) => seen.interactionId !== interactionId).catch(() => null)
    await ada.approves((seen) => seen.interactionId === interactionId)
    expect(textOf(await again)).toContain('deployed g')
    expect(runs('g')).toBe(1)
    expect(await pending()).toEqual([])
    await ada.leaves()
    expect(await other).toBeNull()
  })

  it('uses an answer that came while it was dead', async () => {
    const request = { key: 'dead', calls: [deploys('h')] }
    const first = start()
    const run = first.call(request)
    await ada.sees('deploy')
    await kill(first, run)
    await ada.approves('deploy')
    expect(textOf(await start().call(request))).toContain('deployed h')
    expect(runs('h')).toBe(1)
  })

  it('does not run a call again that was killed while it ran', async () => {
    const request = { key: 'slow', calls: [deploys('slow')] }
    const first = start()
    const run = first.call(request)
    await ada.approves('deploy')
    await expect.poll(() => runs('slow')).toBe(1)
    await kill(first, run)
    const reply = await start().call(request)
    expect('text' in reply ? reply.text : reply.error).toContain('may have run')
    expect(runs('slow')).toBe(1)
  })

  if (limits.asksOneByOne) return
  it('keeps the answer to one of several calls, however often it is killed', async () => {
    const request = { key: 'twice', calls: [deploys('i'), deploys('j')] }
    let child = start()
    let run = child.call(request)
    await expect.poll(pending).toHaveLength(2)
    await ada.approves('i')
    for (let times = 0; times < 2; times += 1) {
      await kill(child, run)
      child = start()
      run = child.call(request)
      await ada.sees('j')
    }
    await ada.approves('j')
    expect(textOf(await run)).toContain('deployed j')
    expect(runs('j')).toBe(1)
    if (limits.runsEachAtOnce) expect(runs('i')).toBeLessThanOrEqual(1)
    else expect(runs('i')).toBe(1)
  })
}

function deploys(version: string): ScriptedCall {
  return { id: `call_${version}`, tool: 'deploy', input: { version } }
}

function textOf(reply: RunReply): string {
  if ('text' in reply) return reply.text
  throw new Error(reply.error)
}
