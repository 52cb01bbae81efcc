import type { Session } from '@askback/protocol'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Api, startTestGateway, type TestGateway, type TestGatewayOptions } from '../testing/index.js'
import { quickAgent } from '../testing/test-agents.test.helper.js'

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'askback-folders-'))
  writeFileSync(join(root, 'file'), '')
})
afterAll(() => rmSync(root, { recursive: true }))

let gateway: TestGateway
afterEach(() => gateway.close())

async function start(options: TestGatewayOptions = {}): Promise<Api> {
  gateway = await startTestGateway({ listen: false, agents: [quickAgent], folders: true, ...options })
  return new Api(gateway)
}

const find = (path: string) => `/api/folders?path=${encodeURIComponent(path)}`

const unusable: [string, () => string, RegExp][] = [
  ['does not exist', () => join(root, 'none'), /^The folder .*none does not exist\.$/],
  ['is a file', () => join(root, 'file'), /file is a file, not a folder\.$/],
  ['is inside of a file', () => join(root, 'file', 'x'), /does not exist\.$/],
  ['is relative', () => 'project', /^Write the folder with its whole path/],
  ['is in the home of another user', () => '~ada/project', /^Write the folder with its whole path/],
  ['has a NUL character', () => '/tmp/\0', /does not exist\.$/],
]

describe('a folder of this machine', () => {
  it.each(unusable)('is refused if it %s, and people can ask before', async (_, path, sentence) => {
    const person = await start()
    expect(await person.get(find(path()))).toMatchObject({
      status: 200,
      body: { problem: expect.stringMatching(sentence) as string },
    })
    expect(await person.post('/api/sessions', { agent: 'quick', cwd: path() })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request', message: expect.stringMatching(sentence) as string } },
    })
    expect(await person.get('/api/sessions')).toMatchObject({ body: { sessions: [] } })
  })

  it.each([
    ['~', homedir()],
    ['~/', join(homedir(), '/')],
    ['~/.', homedir()],
  ])('is stored with the home of the gateway’s user for %s', async (named, path) => {
    const person = await start()
    expect(await person.get(find(named))).toMatchObject({ body: { path, problem: null } })
    const made = await person.post<{ session: Session }>('/api/sessions', { cwd: named })
    expect(made).toMatchObject({ status: 201, body: { session: { cwd: path } } })
  })

  it('of an outside agent may be on another machine, and stays as it is', async () => {
    const person = await start()
    const made = await person.post('/api/sessions', { agent: null, cwd: '~/elsewhere' })
    expect(made).toMatchObject({ status: 201, body: { session: { cwd: '~/elsewhere' } } })
  })

  it('is not looked for on behalf of agents', async () => {
    const person = await start()
    const sessionId = await person.session()
    const own = gateway.credentials.sessionToken(sessionId)
    for (const token of [gateway.agentToken, own]) {
      const agent = new Api(gateway, token)
      for (const path of [root, join(root, 'none')])
        expect(await agent.get(find(path))).toMatchObject({ status: 403 })
    }
    expect(await new Api(gateway, null).get(find(root))).toMatchObject({ status: 401 })
    const outside = new Api(gateway, gateway.agentToken)
    const made = await outside.post('/api/sessions', { agent: null, cwd: join(root, 'none') })
    expect(made.status).toBe(201)
  })

  it('is not looked for in an embedded server, unless that is turned on', async () => {
    const person = await start({ folders: false })
    expect(await person.get(find(root))).toMatchObject({ status: 404 })
    const made = await person.post('/api/sessions', { cwd: join(root, 'none') })
    expect(made.status).toBe(201)
  })

  it('is shown to those only who may administer an embedded server', async () => {
    const person = await start({ authorize: (_, { action }) => action !== 'administer' })
    expect(await person.get(find(root))).toMatchObject({ status: 403 })
  })
})
