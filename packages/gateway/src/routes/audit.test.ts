import { afterEach, beforeEach, expect, it } from 'vitest'
import type { BrowserLoginSecrets } from '../credentials/browser-logins.js'
import { Api, approval, startTestGateway, type TestGateway } from '../testing/index.js'

let gateway: TestGateway
let person: Api
beforeEach(async () => {
  gateway = await startTestGateway({ listen: false })
  person = new Api(gateway)
})
afterEach(() => gateway.close())

async function deny(message: string, toolName = 'Bash'): Promise<string> {
  const item = await person.open(await person.session(), { ...approval, toolName })
  const path = `/api/sessions/${item.sessionId}/interactions/${item.interactionId}/response`
  await person.post(path, { answer: { decision: 'deny', message } })
  return item.sessionId
}

it('has each settlement as a line of JSON', async () => {
  const sessionId = await deny('not today')
  const { headers, body } = await person.get<string>('/api/audit')
  expect(headers['content-type']).toBe('application/jsonl; charset=utf-8')
  expect(
    body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    expect.objectContaining({
      sessionId,
      toolName: 'Bash',
      kind: 'approval',
      settlement: 'denied',
      by: { id: 'owner', name: 'Ada' },
      via: 'http',
      message: 'not today',
    }),
  ])
})

it('keeps the lines of a deleted session, without the texts', async () => {
  const sessionId = await deny('a secret')
  await person.delete(`/api/sessions/${sessionId}`)
  const { body } = await person.get<string>('/api/audit?format=jsonl')
  expect(body).toContain(sessionId)
  expect(body).not.toContain('a secret')
})

it('is CSV that a spreadsheet reads as text', async () => {
  const formulas = [
    '=1+1',
    '+1',
    '-1',
    '@x',
    '\t=1',
    ' =1',
    '\n=1',
    '\u00a0=1',
    '|calc',
    '＝1',
    '＋1',
    '－1',
    '＠x',
  ]
  const texts = ['a,b', 'a;=1', 'a\t=1', 'two\nlines', 'plain']
  for (const text of [...formulas, ...texts, 'say "hi"']) await deny(text, '=cmd')
  const { headers, body } = await person.get<string>('/api/audit?format=csv')
  expect(headers['content-type']).toBe('text/csv; charset=utf-8')
  const [head] = body.split('\r\n')
  expect(head).toBe(
    'at,sessionId,interactionId,toolCallId,toolName,kind,settlement,by,via,digest,message,act,subject',
  )
  const cells = [...formulas.map((text) => `"'${text}"`), ...texts.map((text) => `"${text}"`), '"say ""hi"""']
  for (const cell of cells) expect(body).toContain(`,${cell},,\r\n`)
  expect(body).toContain(`,"'=cmd",`)
})

it('goes through all pages', async () => {
  const id = await person.session({ agent: null, permissionMode: 'bypassPermissions' })
  const { desk } = gateway.host
  await Promise.all(
    Array.from({ length: 1500 }, () =>
      desk.open({ sessionId: id, kind: 'approval', request: { input: {} } }),
    ),
  )
  const { body } = await person.get<string>('/api/audit?only=decisions')
  expect(body.trim().split('\n')).toHaveLength(1500)
})

it('has acts and their actors, with the decisions or alone', async () => {
  const sessionId = await deny('no')
  const cli = { 'askback-surface': 'cli' }
  const made = await person.post(`/api/sessions/${sessionId}/permission-mode`, { mode: 'plan' }, cli)
  expect(made.status).toBe(202)
  expect(rows((await person.get<string>('/api/audit')).body)).toMatchObject([
    { settlement: 'denied' },
    { act: 'permission_mode' },
  ])
  expect(rows((await person.get<string>('/api/audit?only=acts')).body)).toEqual([
    {
      at: expect.any(Number) as number,
      act: 'permission_mode',
      sessionId,
      subject: 'plan',
      by: { id: 'owner', name: 'Ada' },
      via: 'cli',
    },
  ])
  expect(rows((await person.get<string>('/api/audit?only=decisions')).body)).toMatchObject([
    { settlement: 'denied' },
  ])
  const csv = (await person.get<string>('/api/audit?format=csv&only=acts')).body.split('\r\n')
  expect(csv[0]).toBe('at,act,by,via,sessionId,subject')
  expect(csv[1]).toMatch(new RegExp(`^\\d+,"permission_mode","owner","cli","${sessionId}","plan"$`))
  const decisions = (await person.get<string>('/api/audit?format=csv&only=decisions')).body
  expect(decisions).toMatch(
    /^at,sessionId,interactionId,toolCallId,toolName,kind,settlement,by,via,digest,message\r\n/,
  )
  expect(decisions.trim().split('\r\n')).toHaveLength(2)
})

it('has the actors who created a session that asks less, deleted a rule and deleted a session', async () => {
  const { body: token } = await person.post<{ token: string }>('/api/tokens', { person: 'grace' })
  const grace = new Api(gateway, token.token, { 'askback-surface': 'terminal' })
  const made = await grace.post<{ session: { id: string } }>('/api/sessions', {
    agent: null,
    permissionMode: 'acceptEdits',
  })
  const { id: sessionId } = made.body.session
  const item = await person.open(sessionId, approval)
  const path = `/api/sessions/${sessionId}`
  const answer = { decision: 'approve', scope: 'session' }
  await person.post(`${path}/interactions/${item.interactionId}/response`, { answer })
  const [rule] = await gateway.host.desk.rules()
  expect((await grace.delete(`/api/rules/${rule!.id}`)).status).toBe(200)
  expect((await grace.delete(path)).status).toBe(202)
  const by = { id: 'grace', name: 'grace' }
  expect(rows((await person.get<string>('/api/audit?only=acts')).body)).toMatchObject([
    { act: 'token_created' },
    { act: 'permission_mode', subject: 'acceptEdits', sessionId, by, via: 'terminal' },
    { act: 'rule_created', subject: rule!.id, sessionId, by: { id: 'owner' }, via: 'http' },
    { act: 'rule_deleted', subject: rule!.id, sessionId, by, via: 'terminal' },
    { act: 'session_deleted', sessionId, by, via: 'terminal' },
  ])
})

it('has the actors who created and revoked tokens, logged in and logged out', async () => {
  const cli = { 'askback-surface': 'cli' }
  const made = await person.post<{ token: string }>('/api/tokens', { person: 'grace' }, cli)
  const grace = new Api(gateway, made.body.token)
  await grace.post('/api/tokens', { person: 'hopper' })
  const logIn = () =>
    gateway.credentials.logins.logIn(gateway.credentials.createLoginCode({ id: 'grace', name: 'grace' }))
  const page = (login: BrowserLoginSecrets | null) =>
    new Api(gateway, null, {
      cookie: `${gateway.credentials.cookieName}=${login!.cookie}`,
      'askback-proof': login!.proof,
    })
  expect((await page(await logIn()).post('/api/logout', {})).status).toBe(200)
  await logIn()
  await logIn()
  expect((await person.post('/api/logout', { all: true, person: 'grace' })).status).toBe(200)
  expect((await person.delete('/api/tokens/grace')).status).toBe(200)
  const at = expect.any(Number) as number
  const owner = { id: 'owner', name: 'Ada' }
  const by = { id: 'grace', name: 'grace' }
  expect(rows((await person.get<string>('/api/audit?only=acts')).body)).toEqual([
    { at, act: 'token_created', subject: 'grace', by: owner, via: 'cli' },
    { at, act: 'token_created', subject: 'hopper', by, via: 'http' },
    { at, act: 'login', by, via: 'web' },
    { at, act: 'logout', by, via: 'web' },
    { at, act: 'login', by, via: 'web' },
    { at, act: 'login', by, via: 'web' },
    { at, act: 'logout', by: owner, via: 'http', subject: 'grace' },
    { at, act: 'token_revoked', subject: 'grace', by: owner, via: 'http' },
  ])
})

it('has the actor who logged a person out everywhere, even if that person was logged in nowhere', async () => {
  await person.post('/api/tokens', { person: 'grace' })
  for (let count = 0; count < 2; count++)
    expect((await person.post('/api/logout', { all: true, person: 'grace' })).status).toBe(200)
  const logout = { act: 'logout', by: { id: 'owner', name: 'Ada' }, via: 'http', subject: 'grace' }
  expect(rows((await person.get<string>('/api/audit?only=acts')).body)).toMatchObject([
    { act: 'token_created' },
    logout,
    logout,
  ])
})

it('refuses unknown formats and filters', async () => {
  expect((await person.get('/api/audit?format=xml')).status).toBe(400)
  expect((await person.get('/api/audit?only=some')).status).toBe(400)
})

function rows(body: string): unknown[] {
  return body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}
