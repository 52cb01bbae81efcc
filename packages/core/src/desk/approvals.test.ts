import { digestOf } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { ada, database, listFiles, no, sqlite, testDesk, waiting, yes } from './test-desk.test.helper.js'

const remove = { input: { command: 'rm x' } }

describe('[L12] the digest', () => {
  it('of an approval covers only its tool and input', async () => {
    const { open } = await testDesk()
    const digest = digestOf('Bash', { command: 'ls' })
    expect(await open('approval', listFiles, { toolName: 'Bash' })).toMatchObject({ digest })
    const worded = { ...listFiles, title: 'List', description: 'Lists files.', reason: 'To see.' }
    expect(await open('approval', worded, { toolName: 'Bash' })).toMatchObject({ digest })
    expect((await open('approval', listFiles, { toolName: 'bash' })).digest).not.toBe(digest)
    expect((await open('approval', { input: { command: 'ls ' } }, { toolName: 'Bash' })).digest).not.toBe(
      digest,
    )
  })

  it('is the SHA-256 of the canonical JSON, whatever the order of the keys', async () => {
    const { open } = await testDesk()
    const asked = await open('approval', { input: { b: 1, a: [1.5, 'ü', null] } }, { toolName: 'T' })
    // echo -n '{"input":{"a":[1.5,"ü",null],"b":1},"toolName":"T"}' | sha256sum
    expect(asked.digest).toBe('1023ddda42953365225f9b20bf73a79d68951f9ec5d690993753ffd721579d48')
  })

  it('of any other kind covers the whole request', async () => {
    const { open } = await testDesk()
    const asked = await open('question', database, { toolName: 'AskUserQuestion' })
    expect(asked.digest).toBe(digestOf('AskUserQuestion', database))
  })

  it('in an answer must be that of the request, or nothing changes', async () => {
    const { desk, open, seq } = await testDesk()
    const { interactionId, digest } = await open('approval', listFiles)
    const before = await seq()
    const other = desk.as(ada).respond({ interactionId, answer: yes, digest: digestOf('approval', {}) })
    await expect(other).rejects.toMatchObject({ code: 'digest_mismatch', details: { digest } })
    expect(await seq()).toBe(before)
    const { interaction } = await desk.as(ada).respond({ interactionId, answer: yes, digest })
    expect(interaction).toMatchObject({ settlement: 'approved', digest })
  })

  it('is the same in the request, the response and the audit', async () => {
    const { desk, open, events } = await testDesk()
    const { interactionId, digest } = await open('approval', listFiles)
    await desk.as(ada).respond({ interactionId, answer: yes })
    const digests = (await events()).flatMap((event) => ('digest' in event ? [event.digest] : []))
    expect(digests).toEqual([digest, digest])
    expect((await desk.audit()).items).toMatchObject([
      { interactionId, digest, settlement: 'approved', ...ada },
    ])
  })

  it('the caller cannot change a request after it was shown', async () => {
    const { desk, open } = await testDesk()
    const request = { input: { command: 'ls' } }
    const { interactionId } = await open('approval', request)
    request.input.command = 'rm -rf /'
    await desk.as(ada).respond({ interactionId, answer: yes })
    expect(await desk.wait(interactionId)).toMatchObject({ settlement: 'approved', input: { command: 'ls' } })
  })
})

describe('[L12] an edited input', () => {
  it.each([{ command: 'ls -l' }, null, 'ls', [], 0, ''])(
    '%j is the input that runs, with its own digest',
    async (updatedInput) => {
      const { desk, open } = await testDesk()
      const { interactionId, digest } = await open('approval', listFiles, { toolName: 'Bash' })
      const { settlement } = await waiting(desk, interactionId)
      const { interaction } = await desk.as(ada).respond({ interactionId, answer: { ...yes, updatedInput } })
      expect(interaction).toMatchObject({ digest, updatedDigest: digestOf('Bash', updatedInput) })
      expect(await settlement).toMatchObject({ settlement: 'approved', input: updatedInput })
    },
  )

  it.each([
    [{ ...yes, scope: 'session', updatedInput: {} }],
    [{ ...yes, scope: 'always', updatedInput: {} }],
    [{ ...no, updatedInput: {} }],
    [{ ...no, scope: 'session' }],
    [{ ...no, scope: 'always' }],
  ])('%j is refused', async (answer) => {
    const { desk, open } = await testDesk({ session: { cwd: '/work' } })
    const { interactionId } = await open('approval', listFiles)
    await expect(desk.as(ada).respond({ interactionId, answer })).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    expect(await desk.rules()).toEqual([])
  })

  it('an input that no longer matches its digest is not returned', async () => {
    const { desk, store, open, restart } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    await desk.as(ada).respond({ interactionId, answer: yes })
    const [request] = (await store.read({ sessionId: 's', limit: 10 })).filter(
      (event) => event.type === 'interaction_request',
    )
    Object.assign(request!, { request: { input: { command: 'rm -rf /' } } })
    await expect(restart().wait(interactionId)).rejects.toMatchObject({ code: 'digest_mismatch' })
  })
})

describe('the refusal that an agent gets', () => {
  it('has the reason of the person', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId, answer: { ...no, message: 'Use git ls-files.' } })
    expect(await settlement).toMatchObject({ settlement: 'denied', message: 'Use git ls-files.' })
  })
})

describe('an answer by tool call', () => {
  it('settles the only question or approval of that call', async () => {
    const { desk, open } = await testDesk()
    await open('approval', listFiles, { toolCallId: 'a' })
    await open('question', database, { toolCallId: 'a' })
    const call = { sessionId: 's', toolCallId: 'a' }
    expect(
      await desk.as(ada).answerToolCall({ ...call, kind: 'question', answers: { 0: 'SQLite' } }),
    ).toMatchObject({
      kind: 'question',
      answer: sqlite,
    })
    expect(
      await desk.as(ada).answerToolCall({ ...call, kind: 'approval', decision: 'deny', message: 'No.' }),
    ).toMatchObject({
      settlement: 'denied',
      message: 'No.',
    })
  })

  it('can have a scope, an edited input and a digest', async () => {
    const { desk, open } = await testDesk()
    const approve = { sessionId: 's', kind: 'approval', decision: 'approve' } as const
    await open('approval', listFiles, { toolCallId: 'a' })
    const wrong = desk.as(ada).answerToolCall({ ...approve, toolCallId: 'a', digest: 'x' })
    await expect(wrong).rejects.toMatchObject({ code: 'digest_mismatch' })
    expect(
      await desk.as(ada).answerToolCall({ ...approve, toolCallId: 'a', updatedInput: { command: 'pwd' } }),
    ).toMatchObject({
      answer: { ...yes, updatedInput: { command: 'pwd' } },
    })
    await open('approval', listFiles, { toolCallId: 'b' })
    await desk.as(ada).answerToolCall({ ...approve, toolCallId: 'b', scope: 'session' })
    expect(await desk.rules()).toHaveLength(1)
  })

  it('is checked only after the interaction was found, pending and unique', async () => {
    const { desk, clock, open } = await testDesk()
    const nonsense = { sessionId: 's', kind: 'question', answers: { 99: 'x' } } as const
    const answer = (toolCallId: string) => desk.as(ada).answerToolCall({ ...nonsense, toolCallId })
    await expect(answer('never')).rejects.toMatchObject({ code: 'not_found' })
    await open('approval', listFiles, { toolCallId: 'approval' })
    await expect(answer('approval')).rejects.toMatchObject({ code: 'not_found' })
    const { interactionId } = await open('question', database, { toolCallId: 'done' })
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    await expect(answer('done')).rejects.toMatchObject({
      code: 'already_settled',
      details: { interaction: { answer: sqlite } },
    })
    for (let count = 0; count < 2; count++) await open('question', database, { toolCallId: 'two' })
    await expect(answer('two')).rejects.toMatchObject({ code: 'ambiguous' })
    await open('question', database, { toolCallId: 'late', timeoutMs: 10 })
    clock.jump(10)
    await expect(answer('late')).rejects.toMatchObject({
      code: 'already_settled',
      details: { interaction: { settlement: 'timed_out' } },
    })
    await open('question', database, { toolCallId: 'now' })
    await expect(answer('now')).rejects.toMatchObject({ code: 'invalid_answer' })
  })

  describe('an answer to a call that had different requests', () => {
    const approve = {
      sessionId: 's',
      toolCallId: 't',
      kind: 'approval',
      decision: 'approve',
    } as const

    async function swapped() {
      const test = await testDesk()
      const first = await test.open('approval', listFiles, { toolCallId: 't', attach: true })
      const second = await test.open('approval', remove, { toolCallId: 't', attach: true })
      return { ...test, first, second }
    }

    it('[security] must name the digest or the interaction', async () => {
      const { desk, first, second } = await swapped()
      const refused = {
        code: 'ambiguous',
        details: {
          interactions: [first, second].map(({ interactionId, digest }) => ({ interactionId, digest })),
        },
      }
      await expect(desk.as(ada).answerToolCall(approve)).rejects.toMatchObject(refused)
      const deny = { sessionId: 's', toolCallId: 't', kind: 'approval', decision: 'deny' } as const
      await expect(desk.as(ada).answerToolCall(deny)).rejects.toMatchObject(refused)
      const { interactionId, digest } = first
      await expect(desk.as(ada).answerToolCall({ ...approve, digest })).rejects.toMatchObject({
        code: 'digest_mismatch',
      })
      await expect(desk.as(ada).answerToolCall({ ...approve, interactionId })).rejects.toMatchObject({
        code: 'already_settled',
        details: { interaction: { interactionId, settlement: 'superseded' } },
      })
      await expect(desk.as(ada).answerToolCall({ ...approve, interactionId: 'other' })).rejects.toMatchObject(
        {
          code: 'not_found',
        },
      )
      expect(await desk.as(ada).answerToolCall({ ...approve, digest: second.digest })).toMatchObject({
        interactionId: second.interactionId,
        settlement: 'approved',
      })
    })

    it('takes the interaction by its id', async () => {
      const { desk, second } = await swapped()
      const { interactionId } = second
      expect(await desk.as(ada).answerToolCall({ ...approve, interactionId })).toMatchObject({
        interactionId,
        settlement: 'approved',
      })
    })

    it('takes requests into account that have left the window or were settled', async () => {
      const { desk, open, restart } = await testDesk()
      const old = await open('approval', listFiles, { toolCallId: 't' })
      await desk.as(ada).respond({ interactionId: old.interactionId, answer: yes })
      for (let turn = 0; turn < 25; turn++) {
        const turnId = `turn${turn}`
        await desk.report({
          sessionId: 's',
          events: [
            { type: 'turn_started', turnId },
            { type: 'turn_ended', turnId, reason: 'done' },
          ],
        })
      }
      const { state } = await desk.snapshot('s')
      expect(state.interactions).toEqual([])
      await open('approval', remove, { toolCallId: 't' })
      await expect(desk.as(ada).answerToolCall(approve)).rejects.toMatchObject({ code: 'ambiguous' })
      await expect(restart().as(ada).answerToolCall(approve)).rejects.toMatchObject({ code: 'ambiguous' })
    })

    it('is refused for a caller that names an interaction but knows only the call', async () => {
      const { desk, second } = await swapped()
      const { interactionId, digest } = second
      const known = { sessionId: 's', interactionId, answer: yes, toolCallId: 't' }
      await expect(desk.as(ada).respond(known)).rejects.toMatchObject({ code: 'ambiguous' })
      await expect(desk.as(ada).respond({ ...known, toolCallId: 'other' })).rejects.toMatchObject({
        code: 'not_found',
      })
      expect(await desk.as(ada).respond({ ...known, digest })).toMatchObject({
        interaction: { settlement: 'approved' },
      })
    })

    it('needs no digest if all requests were the same, or of another kind', async () => {
      const { desk, open } = await testDesk()
      const first = await open('approval', listFiles, { toolCallId: 't' })
      await desk.cancel({ interactionId: first.interactionId })
      await open('question', database, { toolCallId: 't' })
      const again = await open('approval', listFiles, { toolCallId: 't' })
      expect(await desk.as(ada).answerToolCall(approve)).toMatchObject({ interactionId: again.interactionId })
    })

    it('needs no digest for a named interaction if all others of the call are of another kind', async () => {
      const { desk, open } = await testDesk()
      await open('question', database, { toolCallId: 't' })
      const { interactionId } = await open('approval', listFiles, { toolCallId: 't' })
      const known = { sessionId: 's', interactionId, answer: yes, toolCallId: 't' }
      expect(await desk.as(ada).respond(known)).toMatchObject({ interaction: { settlement: 'approved' } })
    })
  })

  it('settles the pending interaction when others of the call are settled', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database, { toolCallId: 't' })
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    const second = await open('question', database, { toolCallId: 't' })
    const answered = await desk
      .as(ada)
      .answerToolCall({ sessionId: 's', toolCallId: 't', kind: 'question', answers: { 0: 'Else' } })
    expect(answered).toMatchObject({
      interactionId: second.interactionId,
      answer: { answers: [{ selected: [], other: 'Else' }] },
    })
  })
})
