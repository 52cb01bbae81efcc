import { afterEach, beforeEach, expect, it } from 'vitest'
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

it('gives each settlement as a line of JSON', async () => {
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

it('keeps the lines of a deleted session, without what was said', async () => {
  const sessionId = await deny('a secret')
  await person.delete(`/api/sessions/${sessionId}`)
  const { body } = await person.get<string>('/api/audit?format=jsonl')
  expect(body).toContain(sessionId)
  expect(body).not.toContain('a secret')
})

it('gives CSV that a spreadsheet takes for text', async () => {
  for (const text of ['=1+1', '+1', '-1', '@x', '\t=1', 'a,b', 'say "hi"', 'two\nlines'])
    await deny(text, '=cmd')
  const { headers, body } = await person.get<string>('/api/audit?format=csv')
  expect(headers['content-type']).toBe('text/csv; charset=utf-8')
  const [head, ...lines] = body.split('\r\n')
  expect(head).toBe('at,sessionId,interactionId,toolCallId,toolName,kind,settlement,by,via,digest,message')
  expect(
    lines.slice(0, -1).map((line) => line.slice(line.lastIndexOf(',', line.length - 5) + 1)),
  ).toHaveLength(8)
  for (const cell of ["'=1+1", "'+1", "'-1", "'@x", "'\t=1", '"a,b"', '"say ""hi"""', '"two\nlines"'])
    expect(body).toContain(`,${cell}\r\n`)
  expect(body).toContain(",'=cmd,")
})

it('goes through all pages', async () => {
  const id = await person.session({ agent: null, permissionMode: 'bypassPermissions' })
  const { desk } = gateway.host
  await Promise.all(
    Array.from({ length: 1500 }, () =>
      desk.open({ sessionId: id, kind: 'approval', request: { input: {} } }),
    ),
  )
  const { body } = await person.get<string>('/api/audit')
  expect(body.trim().split('\n')).toHaveLength(1500)
})

it('knows two formats', async () => {
  expect((await person.get('/api/audit?format=xml')).status).toBe(400)
})
