import type { Interaction, Session } from '@askback/protocol'
import { expect, it } from 'vitest'
import { at, portToKeep, run, serve } from '../http/gateways.js'
import {
  answered,
  databases,
  end,
  inShell,
  interactionOf,
  outcome,
  picks,
  sharedGateway,
  waitsFor,
} from './asking.js'
import { approvedToAnother, beforeCancel, losesFirstAnswer } from './losing-proxy.js'

const shared = sharedGateway()

it('the answer to a killed command can be claimed by another [L10]', async () => {
  const gateway = shared()
  const killed = run(['ask', 'Which?', ...databases, '--data', gateway.data])
  const id = await waitsFor(killed)
  await killed.kill('SIGKILL')
  const waiting = run(['wait', id, '--data', gateway.data])
  expect(await answered(gateway, waiting, picks('SQLite'))).toMatchObject({ code: 0, stdout: 'SQLite\n' })
  expect(await interactionOf(gateway, id)).toMatchObject({ delivered: true })
  // An answer can be returned again, because it does not let anything run.
  expect(await outcome(['wait', id, '--data', gateway.data])).toMatchObject({ code: 0, stdout: 'SQLite\n' })
})

it('an approval that was claimed is not claimed again [L10]', async () => {
  const gateway = shared()
  const command = run(['request-approval', '--tool', 'deploy', '--data', gateway.data])
  const id = await waitsFor(command)
  expect(await answered(gateway, command, { decision: 'approve' })).toMatchObject({ code: 0 })
  expect(await outcome(['wait', id, '--data', gateway.data])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('may have run already') as unknown,
  })
})

it('an approval that another process claimed first is uncertain, and not granted again [L10]', async () => {
  const gateway = shared()
  const url = await losesFirstAnswer(gateway, approvedToAnother(gateway))
  const inHere = inShell(gateway, await gateway.session(), { ASKBACK_URL: url })
  const { code, stdout, stderr } = await end(run(['request-approval', '--tool', 'deploy'], inHere))
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toContain('may have run already')
})

it('an approval by a rule is uncertain, too, if the response was lost [L10]', async () => {
  const gateway = shared()
  const body = { agent: null, permissionMode: 'bypassPermissions' }
  const made = await gateway.call<{ session: Session }>('POST', '/api/sessions', { body })
  const url = await losesFirstAnswer(gateway)
  const inHere = inShell(gateway, made.body.session.id, { ASKBACK_URL: url })
  const { code, stdout, stderr } = await end(run(['request-approval', '--tool', 'deploy', '--json'], inHere))
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ settlement: 'approved', delivered: true })
  expect(stderr).toContain('may have run already')
})

it('[L10] Ctrl-C that is too late to cancel an approval claims it, so that no other process does', async () => {
  const gateway = shared()
  const approve = async () => {
    const item = await interactionOf(gateway, await waitsFor(command))
    await gateway.call('POST', `${at(item)}/response`, { body: { answer: { decision: 'approve' } } })
  }
  const url = await beforeCancel(gateway, approve)
  const inHere = inShell(gateway, await gateway.session(), { ASKBACK_URL: url })
  const command = run(['request-approval', '--tool', 'deploy'], inHere)
  const id = await waitsFor(command)
  void command.kill('SIGINT')
  expect(await end(command)).toMatchObject({ code: 0 })
  expect(await interactionOf(gateway, id)).toMatchObject({ settlement: 'approved', delivered: true })
})

it('waits for a gateway that restarts, also at another address', async () => {
  const gateway = await serve({ port: await portToKeep() })
  const command = run(['ask', 'Which?', ...databases, '--data', gateway.data])
  await waitsFor(command)
  await gateway.stop('SIGKILL')
  const next = await serve({ data: gateway.data })
  expect(next.ready.url).not.toBe(gateway.ready.url)
  expect(await answered(next, command, picks('Postgres'))).toMatchObject({ code: 0, stdout: 'Postgres\n' })
})

it('waits for a gateway that drains and starts again at its address', async () => {
  const port = await portToKeep()
  const gateway = await serve({ port })
  const sessionId = await gateway.session()
  const command = run(['ask', 'Which?', ...databases], inShell(gateway, sessionId))
  await waitsFor(command)
  await gateway.stop('SIGTERM')
  const next = await serve({ data: gateway.data, port })
  expect(await answered(next, command, picks('Postgres'))).toMatchObject({ code: 0, stdout: 'Postgres\n' })
})

it('asks once, even if the response to its first request was lost', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  const url = await losesFirstAnswer(gateway)
  const command = run(['ask', 'Which?', ...databases], inShell(gateway, sessionId, { ASKBACK_URL: url }))
  await waitsFor(command)
  const { body } = await gateway.call<{ interactions: Interaction[] }>('GET', '/api/interactions')
  expect(body.interactions.filter((item) => item.sessionId === sessionId)).toHaveLength(1)
  expect(await answered(gateway, command, picks('SQLite'))).toMatchObject({ code: 0, stdout: 'SQLite\n' })
})

it('[L6] follows a form that was superseded while the response to its first request was lost', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  const fields = [{ name: 'port', type: 'number', required: true, min: 1 }]
  let refused: { status: number } | undefined
  const url = await losesFirstAnswer(gateway, async (lost) => {
    const body = { answer: { values: { port: 0 } } }
    refused = await gateway.call('POST', `${at(lost)}/response`, { body })
  })
  const command = run(['form', '-'], inShell(gateway, sessionId, { ASKBACK_URL: url }), {
    stdin: JSON.stringify({ fields }),
  })
  const right = { values: { port: 80 } }
  expect(await answered(gateway, command, right)).toMatchObject({ code: 0, stdout: '{"port":80}\n' })
  expect(refused).toMatchObject({ status: 400 })
})

it('[L10] cancels a request whose response has not arrived yet when two signals come', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  let opened = ''
  const url = await losesFirstAnswer(gateway, async ({ interactionId }) => {
    opened = interactionId
    void command.kill('SIGINT')
    void command.kill('SIGTERM')
  })
  const command = run(['ask', 'Which?'], inShell(gateway, sessionId, { ASKBACK_URL: url }))
  expect(await end(command)).toMatchObject({ code: 4, stdout: '' })
  expect(await interactionOf(gateway, opened)).toMatchObject({ settlement: 'cancelled' })
})

it('says which interaction is still pending if the gateway could not be reached to cancel it', async () => {
  const gateway = await serve({ port: await portToKeep() })
  const command = run(['ask', 'Which?', '--data', gateway.data])
  const id = await waitsFor(command)
  await gateway.stop('SIGKILL')
  await command.kill('SIGINT')
  expect(await end(command)).toMatchObject({
    code: 6,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(`could not be cancelled\\. It still waits: askback wait ${id}\n$`),
    ) as unknown,
  })
})

it('a command that only reads cancels nothing when it stops', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  const { interactionId } = await gateway.open(sessionId)
  const env = { ASKBACK_URL: gateway.ready.url, ASKBACK_TOKEN: gateway.ready.token }
  const looking = run(['wait', interactionId], env)
  await waitsFor(looking)
  await looking.kill('SIGINT')
  // Its credential is a person's, who has not asked: the gateway would let them cancel.
  expect(await interactionOf(gateway, interactionId)).toMatchObject({ status: 'pending' })
  expect(await end(looking)).toMatchObject({ code: 130 })
})
