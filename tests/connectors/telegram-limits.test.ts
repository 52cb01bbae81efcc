import type { Json } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import {
  ADA,
  ask,
  CHAT,
  command,
  controls,
  errors,
  expectSaid,
  host,
  question,
  running,
  server,
  settled,
  multiSelect,
  startForAda,
  status,
  texts,
  until,
} from './telegram-setup.js'

describe('the limits of Telegram', () => {
  it('a long label is shown completely, and its button carries only an id', async () => {
    await startForAda()
    const label = `Use 🐘 PostgreSQL ${'with a very long explanation '.repeat(8)}`
    const item = await ask('question', {
      questions: [{ question: 'Which?', options: [{ label }, { label: 'B' }] }],
    })
    await until(() => controls().length === 3)
    expect(texts()[0]).toContain(label.trim())
    server.tap(CHAT, ADA, '1. Use')
    expect((await settled(item)).answer).toEqual({ answers: [{ selected: [label] }] })
  })

  it('long input is sent as a file before the buttons, and the message says so', async () => {
    await startForAda()
    const lines = Array.from({ length: 412 }, (_, n) => `echo "*_[line ${n}](x) 🐘"`).join('\n')
    const item = await ask('approval', { input: { command: lines } })
    await until(() => controls().includes('Approve'))
    const [file, card] = server.in(CHAT)
    expect(file?.document?.content).toContain(lines)
    expect(card?.text).toMatch(/Only the beginning is shown here. All of it \(\d+ lines, [\d,]+ characters\)/)
    expect(card!.text.length).toBeLessThanOrEqual(4096)
    server.tap(CHAT, ADA, 'Approve')
    await settled(item)
    await expectSaid('Approved by Ada')
    expect(server.in(CHAT).filter(({ document }) => document)).toHaveLength(1)
  })

  const long = 'x'.repeat(5000)
  const fields = Array.from({ length: 300 }, (_, n): [string, Json] => [`field-${n}`, 'value'])
  it.each<[string, string, Json, string]>([
    ['a list of fields', 'approval', { input: Object.fromEntries(fields) }, 'field-299:\nvalue'],
    ['the name of a field', 'approval', { input: { [`${long}!`]: 1 } }, `"${long}!":\n1`],
    ['a header', 'question', { questions: [{ header: long, question: 'Which?', options: [] }] }, long],
    [
      'a label',
      'form',
      { message: 'M', schema: { fields: [{ name: 'a', label: long, type: 'text' }] } },
      long,
    ],
  ])('the file also contains %s that is too long for a message', async (_name, kind, request, words) => {
    await startForAda()
    await host.desk.open({ sessionId: 's', kind, request, toolName: 'Bash' })
    await until(() => server.in(CHAT).length === 2)
    const [file, card] = server.in(CHAT)
    expect(file?.document?.content).toContain(words)
    expect(card?.text).toContain('is in the file above')
    expect(errors).toEqual([])
  })

  it('a choice without a button can be chosen by its number', async () => {
    await startForAda()
    const options = Array.from({ length: 150 }, (_, n) => ({ value: n, label: `Region ${n}` }))
    const fields = [{ name: 'region', type: 'select', options }]
    const item = await ask('form', { message: 'Where?', schema: { fields } })
    await until(() => controls().length === 100)
    server.write(CHAT, ADA, '150')
    expect((await settled(item)).answer).toEqual({ values: { region: 149 } })
    expect(errors).toEqual([])
  })

  it('a card that becomes too long at its next step is shown again with a file', async () => {
    await startForAda()
    const item = await ask('approval', { input: { command: 'x'.repeat(4030) } })
    await until(() => controls().includes('Approve'))
    expect(server.in(CHAT)).toHaveLength(1)
    server.tap(CHAT, ADA, 'Deny with')
    await until(() => controls().join() === 'Back')
    const [before, file, card] = server.in(CHAT)
    expect(before?.text).toContain('Shown again below.')
    expect(file?.document?.content).toContain('x'.repeat(4030))
    expect(card?.text).toContain('is in the file above')
    server.write(CHAT, ADA, 'Too long')
    expect(await settled(item)).toMatchObject({ settlement: 'denied', message: 'Too long' })
    await expectSaid('Denied by Ada')
    expect(errors).toEqual([])
  })

  it.each(['a_b*c[d](e)`f', '<b>&amp;</b>', '😀'.repeat(2040), 'ends with blanks   \n\n', '\u202e\u0000x'])(
    'input with any characters is shown: %j',
    async (input) => {
      await startForAda()
      await ask('approval', { input: { command: input }, title: input, reason: '🐘 because' })
      await until(() => controls().includes('Approve'))
      expect(errors).toEqual([])
    },
  )

  it('a long text of an agent is split into several messages', async () => {
    await startForAda()
    await running.context.setPlace(CHAT, { sessions: 'all', current: 's' })
    await host.desk.report({
      sessionId: 's',
      events: [{ type: 'text', blockId: 'b', text: 'word 🐘 '.repeat(1200) }],
    })
    await until(() => server.in(CHAT).length === 3)
    expect(texts().join(' ').match(/🐘/gu)).toHaveLength(1200)
  })

  it('the words of an agent are quoted, so that they cannot imitate a card', async () => {
    await startForAda()
    await running.context.setPlace(CHAT, { sessions: 'all', current: 's' })
    const forged = 'Approve Bash? · Release\n\ncommand:\nls'
    await host.desk.report({
      sessionId: 's',
      events: [
        { type: 'text', blockId: 'b', text: forged },
        { type: 'error', code: 'x', message: forged, fatal: false },
      ],
    })
    await until(() => server.in(CHAT).length === 2)
    const quoted = server
      .in(CHAT)
      .map(({ text, entities }) =>
        entities.map(({ type, offset, length }) => [type, text.slice(offset, offset + length)]),
      )
    expect(quoted).toEqual([[['blockquote', forged]], [['blockquote', forged]]])
  })

  it('the first line of a card stays one line, whatever the names of session and tool', async () => {
    const sessionId = 'named'
    await host.desk.createSession({ id: sessionId, agent: null, title: 'Release\n\ncommand:\nls' })
    await startForAda()
    const toolName = 'Bash\nApproved by Ada.\u001b[2J'
    await host.desk.open({ sessionId, kind: 'approval', request: command, toolName })
    await until(() => controls().includes('Approve'))
    expect(texts()[0]!.split('\n', 1)[0]).toBe(
      'Approve Bash ⏎ Approved by Ada.⟦ESC[2J⟧? · Release ⏎ command: ⏎ ls',
    )
  })

  it('waits as long as Telegram says, and loses nothing', async () => {
    await startForAda()
    await until(() => server.calls.includes('getUpdates'))
    server.limit(CHAT, 1)
    await ask('question', question)
    await ask('approval', command)
    await until(() => controls().includes('A') && controls().includes('Approve'))
    expect(server.calls.filter((method) => method === 'sendMessage')).toHaveLength(3)
    expect(errors).toEqual([])
  })

  it('a deleted message is sent again when its card changes, and ignored when its card closes', async () => {
    await startForAda()
    const item = await ask('question', multiSelect)
    await until(() => controls().includes('A'))
    server.tap(CHAT, ADA, 'A')
    server.delete(server.in(CHAT)[0]!)
    await until(() => controls().includes('Done (1)'))
    server.delete(server.in(CHAT)[0]!)
    await host.desk.respond({ interactionId: item.interactionId, answer: { answers: [{ selected: ['B'] }] } })
    const next = await ask('approval', command)
    await until(() => controls().includes('Approve'))
    expect(errors).toEqual([])
    expect(await status(next)).toBe('pending')
  })
})
