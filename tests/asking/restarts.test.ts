import { connect } from '@askback/client'
import { createDesk } from '@askback/core'
import type { Interaction } from '@askback/protocol'
import { startTestGateway, type TestGateway } from '@askback/gateway/testing'
import { sqliteStore } from '@askback/store-sqlite'
import { person, type ScriptedPerson } from '@askback/testing'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { bundle, workFolder } from '../durability/bundle.js'
import { Child, ProcessEndedError } from '../durability/child-process.js'
import type { DeployReply, DeployRequest } from './deploying-program.js'

/** Milliseconds between the approval and the kill: before, while and after the program gets it. */
const KILLED_AFTER_MS = [0, 1, 2, 4, 8, 16, 32]

const { folder, remove } = workFolder()
const running: Child<DeployRequest, DeployReply>[] = []
let program: string
let gateway: TestGateway
let ada: ScriptedPerson

beforeAll(async () => {
  program = await bundle(new URL('./deploying-program.ts', import.meta.url), folder)
})
afterAll(remove)

beforeEach(async () => {
  gateway = await startTestGateway()
  ada = person(gateway.host, { name: 'Ada', patience: '60s' })
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((child) => child.kill()))
  await ada.leaves()
  await gateway.close()
})

it('[L10] a program that is killed while it waits gets the same request again, and runs once', async () => {
  const first = start()
  const killed = expectEnded(first.call({ version: 'a' }))
  const { interactionId } = await ada.sees('deploy')
  await first.kill()
  await killed
  const second = start().call({ version: 'a' })
  await pause(50)
  expect(await pending()).toMatchObject([{ interactionId }])
  await ada.approves('deploy')
  expect(await second).toEqual({ result: 'deployed a' })
  expect(await start().call({ version: 'a' })).toEqual({ result: 'deployed a' })
  expect(runs('a')).toBe(1)
})

it('[L10] an approval that was given while the program was dead runs once', async () => {
  const first = start()
  const killed = expectEnded(first.call({ version: 'b' }))
  await ada.sees('deploy')
  await first.kill()
  await killed
  await ada.approves('deploy')
  expect(await start().call({ version: 'b' })).toEqual({ result: 'deployed b' })
  expect(runs('b')).toBe(1)
})

it('[L10] a program that is killed while the call runs does not run it again', async () => {
  const first = start()
  const killed = expectEnded(first.call({ version: 'slow' }))
  await ada.approves('deploy')
  await expect.poll(() => runs('slow')).toBe(1)
  await first.kill()
  await killed
  expect(await start().call({ version: 'slow' })).toEqual({ reason: 'in_doubt' })
  expect(runs('slow')).toBe(1)
})

it('[L10] whenever a program is killed, the call runs at most once, and not at all only in doubt', async () => {
  for (const killedAfterMs of KILLED_AFTER_MS) {
    const version = `killed-${killedAfterMs}`
    const first = start()
    const killed = first.call({ version }).catch(() => null)
    await ada.approves(version)
    await pause(killedAfterMs)
    await first.kill()
    await killed
    const reply = await start().call({ version })
    expect(runs(version)).toBeLessThanOrEqual(1)
    expect(reply).toEqual('result' in reply ? { result: `deployed ${version}` } : { reason: 'in_doubt' })
    if ('result' in reply) expect(runs(version)).toBe(1)
  }
})

it('[L10] a desk that is opened again on its file has the request, and the call runs once', async () => {
  const file = join(folder, 'askback.db')
  const run = vi.fn<(version: string) => string>((version) => `deployed ${version}`)
  const open = () => {
    const store = sqliteStore({ path: file })
    const desk = createDesk({ store })
    const askback = connect({ desk })
    const deploy = askback.session('deploys').withApproval('deploy', run, { key: (version) => version })
    const close = async () => {
      askback.close()
      desk.close()
      await store.close()
    }
    return { desk, deploy, close }
  }
  const first = open()
  const ended = first.deploy('c').catch((error: unknown) => error)
  const bob = person(first.desk, { name: 'Bob' })
  const { interactionId } = await bob.sees('deploy')
  await bob.leaves()
  await first.close()
  expect(await ended).toMatchObject({ code: 'unavailable' })
  const second = open()
  const deployed = second.deploy('c')
  const eve = person(second.desk, { name: 'Eve' })
  expect(await eve.approves('deploy')).toMatchObject({ interactionId })
  expect(await deployed).toBe('deployed c')
  await eve.leaves()
  await second.close()
  const third = open()
  expect(await third.deploy('c')).toBe('deployed c')
  await third.close()
  expect(run).toHaveBeenCalledOnce()
})

async function expectEnded(call: Promise<unknown>): Promise<void> {
  await expect(call).rejects.toBeInstanceOf(ProcessEndedError)
}

function start(): Child<DeployRequest, DeployReply> {
  const child = new Child<DeployRequest, DeployReply>(program, {
    ASKBACK_TEST_URL: gateway.url,
    ASKBACK_TEST_TOKEN: gateway.agentToken,
    ASKBACK_TEST_FILE: join(folder, 'runs'),
  })
  running.push(child)
  return child
}

/** How often the call for this version has run. */
function runs(version: string): number {
  const file = join(folder, 'runs')
  if (!existsSync(file)) return 0
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line === version).length
}

async function pending(): Promise<Interaction[]> {
  return (await gateway.host.desk.pending()).interactions
}
