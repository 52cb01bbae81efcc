import { defineInteraction } from '@askback/core'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { Api, startTestGateway, type TestGateway } from '../testing/index.js'

const timeSlot = defineInteraction({
  kind: 'time_slot',
  presentation: 'questionnaire',
  request: z.object({ slots: z.array(z.string()) }),
  answer: z.object({ slot: z.string() }),
})
const other = { ...timeSlot, kind: 'other' }

let folder: string
let file: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'askback-renderers-'))
  file = join(folder, 'time-slot.mjs')
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('a gateway with a renderer', () => {
  let gateway: TestGateway
  let anyone: Api
  beforeEach(async () => {
    writeFileSync(file, 'export default () => null\n')
    writeFileSync(join(folder, 'secret.js'), 'secret')
    gateway = await startTestGateway({
      listen: false,
      kinds: [timeSlot, other],
      renderers: { time_slot: file },
    })
    anyone = new Api(gateway, null)
  })
  afterEach(() => gateway.close())

  it('serves it as a script that no page of another site can use', async () => {
    const { status, body, headers } = await anyone.get<string>('/renderers/time_slot.js')
    expect({ status, body }).toEqual({ status: 200, body: 'export default () => null\n' })
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    })
  })

  it('sends it again only after it has changed', async () => {
    const first = await anyone.get('/renderers/time_slot.js')
    const known = { 'if-none-match': String(first.headers['etag']) }
    expect(await anyone.get('/renderers/time_slot.js', known)).toMatchObject({ status: 304, body: '' })
    writeFileSync(file, 'export default () => 1\n')
    expect(await anyone.get('/renderers/time_slot.js', known)).toMatchObject({
      status: 200,
      body: 'export default () => 1\n',
    })
  })

  it.each([
    'other.js',
    'secret.js',
    'time-slot.mjs',
    'time_slot.js.map',
    'time_slot',
    '..%2fsecret.js',
    '__proto__.js',
    'toString.js',
    'constructor.js',
  ])('serves no %s', async (name) => {
    expect(await anyone.get(`/renderers/${name}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    })
  })

  it('fails with one error if its file is gone', async () => {
    rmSync(file)
    expect(await anyone.get('/renderers/time_slot.js')).toMatchObject({ status: 500 })
  })

  it('lists it with its kind', async () => {
    const { body } = await new Api(gateway).get<{ kinds: object[] }>('/api/kinds')
    expect(body.kinds).toMatchObject([
      { kind: 'time_slot', renderer: 'renderers/time_slot.js' },
      { kind: 'other' },
    ])
    expect(body.kinds[1]).not.toHaveProperty('renderer')
  })
})

describe('a renderer', () => {
  it.each([
    [{ unknown: '/x.js' }, /kind unknown has no kind/],
    [{ time_slot: '/nowhere/slot.js' }, /cannot be read: there is no file \/nowhere\/slot\.js/],
    [{ time_slot: '/x.tsx' }, /compile it first/],
  ])('%j is refused at the start', async (renderers, message) => {
    await expect(startTestGateway({ listen: false, kinds: [timeSlot], renderers })).rejects.toThrow(message)
  })

  it.each<[string, (path: string) => void]>([
    ['a folder', (path) => mkdirSync(path)],
    // To read it would never end.
    ['a link to a device', (path) => symlinkSync('/dev/zero', path)],
  ])('that is %s is refused at the start', async (_, create) => {
    const path = join(mkdtempSync(join(folder, 'no-file-')), 'slot.js')
    create(path)
    const started = startTestGateway({ listen: false, kinds: [timeSlot], renderers: { time_slot: path } })
    await expect(started).rejects.toThrow(`is ${path}, which is not a file`)
  })
})
