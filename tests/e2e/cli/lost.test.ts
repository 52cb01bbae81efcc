import type { Interaction } from '@askback/protocol'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterEach, expect, it } from 'vitest'
import { at, portToKeep, run, serve, type RunningGateway } from '../http/gateways.js'
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

const shared = sharedGateway()

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

it('what a killed command has asked can be taken up [L10]', async () => {
  const gateway = shared()
  const killed = run(['ask', 'Which?', ...databases, '--data', gateway.data])
  const id = await waitsFor(killed)
  await killed.kill('SIGKILL')
  const waiting = run(['wait', id, '--data', gateway.data])
  expect(await answered(gateway, waiting, picks('SQLite'))).toMatchObject({ code: 0, stdout: 'SQLite\n' })
  expect(await interactionOf(gateway, id)).toMatchObject({ delivered: true })
  // An answer can be read again; it grants nothing.
  expect(await outcome(['wait', id, '--data', gateway.data])).toMatchObject({ code: 0, stdout: 'SQLite\n' })
})

it('an approval that was handed over is not handed over again [L10]', async () => {
  const gateway = shared()
  const command = run(['request-approval', '--tool', 'deploy', '--data', gateway.data])
  const id = await waitsFor(command)
  expect(await answered(gateway, command, { decision: 'approve' })).toMatchObject({ code: 0 })
  expect(await outcome(['wait', id, '--data', gateway.data])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('may have run already') as unknown,
  })
})

it('waits for a gateway that restarts, wherever it comes back', async () => {
  const gateway = await serve({ port: await portToKeep() })
  const command = run(['ask', 'Which?', ...databases, '--data', gateway.data])
  await waitsFor(command)
  await gateway.stop('SIGKILL')
  const next = await serve({ data: gateway.data })
  expect(next.ready.url).not.toBe(gateway.ready.url)
  expect(await answered(next, command, picks('Postgres'))).toMatchObject({ code: 0, stdout: 'Postgres\n' })
})

it('waits for a gateway that stops in good order and starts again at its address', async () => {
  const port = await portToKeep()
  const gateway = await serve({ port })
  const sessionId = await gateway.session()
  const command = run(['ask', 'Which?', ...databases], inShell(gateway, sessionId))
  await waitsFor(command)
  await gateway.stop('SIGTERM')
  const next = await serve({ data: gateway.data, port })
  expect(await answered(next, command, picks('Postgres'))).toMatchObject({ code: 0, stdout: 'Postgres\n' })
})

it('asks once, though the answer to its first request was lost', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  const url = await losesFirstAnswer(gateway)
  const command = run(['ask', 'Which?', ...databases], inShell(gateway, sessionId, { ASKBACK_URL: url }))
  await waitsFor(command)
  const { body } = await gateway.call<{ interactions: Interaction[] }>('GET', '/api/interactions')
  expect(body.interactions.filter((item) => item.sessionId === sessionId)).toHaveLength(1)
  expect(await answered(gateway, command, picks('SQLite'))).toMatchObject({ code: 0, stdout: 'SQLite\n' })
})

it('[L6] follows a form that was asked again while the answer to its first request was lost', async () => {
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

it('[L10] cancels what it does not know yet to be open when two signals come', async () => {
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

it('says what still waits when a gateway that is away could not be told to cancel', async () => {
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

it('somebody who only looks on cancels nothing when they stop', async () => {
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

/**
 * Passes everything on, but cuts the connection instead of giving back the first answer to a request to ask, once what
 * happens `meanwhile` is done.
 */
async function losesFirstAnswer(
  { ready }: RunningGateway,
  meanwhile: (lost: Interaction) => Promise<void> = () => Promise.resolve(),
): Promise<string> {
  let lost = false
  const server = createServer((incoming, outgoing) => {
    const target = new URL(incoming.url ?? '/', ready.url)
    const headers = { ...incoming.headers, host: target.host }
    const onward = request(target, { method: incoming.method, headers }, (answer) => {
      const loses = !lost && incoming.method === 'POST' && target.pathname.endsWith('/interactions')
      if (loses) {
        lost = true
        const cut = () => void outgoing.destroy()
        json(answer)
          .then((body) => meanwhile((body as { interaction: Interaction }).interaction))
          .then(cut, cut)
      } else {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(outgoing)
      }
    })
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
