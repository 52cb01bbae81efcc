import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { answer, failureOf, onlyPending, picks, type AskingSubject } from './subject.js'

/** A key makes a restarted program find its request again, and an approved call runs at most once. */
export function keysConform(subject: () => AskingSubject): void {
  const choices = ['A', 'B'] as const

  describe('a key', () => {
    it('leads a restarted program to the request that is pending', async () => {
      const first = subject().askback.session('keys').choose('Which?', choices, { key: 'Größe 1' })
      const { interactionId } = await onlyPending(subject())
      subject().askback.close()
      await failureOf(first)
      const again = subject().restarted().session('keys').choose('Which?', choices, { key: 'Größe 1' })
      expect(await onlyPending(subject())).toMatchObject({ interactionId })
      await answer(subject(), picks('B'))
      expect(await again).toBe('B')
    })

    it('leads to the answer, however often it is asked', async () => {
      const ask = () => subject().restarted().session('keys').choose('Which?', choices, { key: 'k' })
      const first = ask()
      await answer(subject(), picks('B'))
      expect(await first).toBe('B')
      expect(await ask()).toBe('B')
      expect(await ask()).toBe('B')
    })

    it('leads to the same ending', async () => {
      const ask = () =>
        subject().restarted().session('keys').choose('Which?', choices, { key: 'k', timeout: '20ms' })
      expect(await ask().outcome()).toMatchObject({ reason: 'timed_out' })
      expect(await ask().outcome()).toMatchObject({ reason: 'timed_out' })
    })

    it('is refused for another request', async () => {
      const session = subject().askback.session('keys')
      const asked = session.choose('Which?', choices, { key: 'k' })
      await onlyPending(subject())
      expect(await failureOf(session.choose('Which one?', choices, { key: 'k' }))).toMatchObject({
        code: 'idempotency_mismatch',
      })
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
    })

    it('belongs to its session', async () => {
      const { askback } = subject()
      const one = askback.session('one').choose('Which?', choices, { key: 'k' })
      await answer(subject(), picks('A'))
      const two = askback.session('two').choose('Which?', choices, { key: 'k' })
      await answer(subject(), picks('B'))
      expect([await one, await two]).toEqual(['A', 'B'])
    })

    it('leads through all forms that a schema needed', async () => {
      const schema = z.object({ port: z.number().refine((port) => port % 2 === 0, 'must be even') })
      const ask = () => subject().restarted().session('keys').form(schema, { key: 'port', timeout: '1h' })
      const first = ask()
      await answer(subject(), { values: { port: 1 } })
      await onlyPending(subject())
      const second = ask()
      await answer(subject(), { values: { port: 2 } })
      expect([await first, await second, await ask()]).toEqual([{ port: 2 }, { port: 2 }, { port: 2 }])
    })

    it('is a text', async () => {
      const session = subject().askback.session('keys')
      const refused = { code: 'invalid_request', message: 'A key is a text that is not empty.' }
      expect(await failureOf(session.choose('Which?', choices, { key: '' }))).toMatchObject(refused)
      const keyless = session.withApproval('deploy', () => 1, { key: () => undefined as unknown as string })
      expect(await failureOf(keyless(null))).toMatchObject(refused)
      expect(await subject().backend.pending()).toEqual([])
    })
  })

  describe('a function with approval', () => {
    const guarded = (run: (version: string) => string) =>
      subject()
        .restarted()
        .session('deploys')
        .withApproval('deploy', run, { key: (version) => `deploy-${version}`, timeout: '2d' })

    it('runs with what was approved, and resolves with its result', async () => {
      const deploy = guarded((version) => `deployed ${version}`)
      const deployed = deploy('1.4.0')
      const asked = await answer(subject(), { decision: 'approve' })
      expect(asked).toMatchObject({ toolName: 'deploy', request: { input: '1.4.0' } })
      expect(asked.expiresAt! - asked.requestedAt).toBe(2 * 24 * 3_600_000)
      expect(await deployed).toBe('deployed 1.4.0')
    })

    it('runs with the edited input, if the schema accepts it', async () => {
      const run = vi.fn<(version: string) => string>((version) => version)
      const session = subject().askback.session('deploys')
      const deployed = session.withApproval('deploy', run, { schema: z.string() })('1.4.0')
      await answer(subject(), { decision: 'approve', updatedInput: '1.4.1' })
      expect(await deployed).toBe('1.4.1')
      expect(run.mock.calls).toEqual([['1.4.1']])
    })

    it('does not run without an approval, and passes on what it throws with one', async () => {
      const run = vi.fn<() => string>(() => {
        throw new RangeError('no such version')
      })
      const denied = failureOf(guarded(run)('1'))
      await answer(subject(), { decision: 'deny', message: 'No.' })
      expect(await denied).toMatchObject({ name: 'NotAnswered', reason: 'denied' })
      expect(run).not.toHaveBeenCalled()
      const failed = failureOf(guarded(run)('2'))
      await answer(subject(), { decision: 'approve' })
      expect(await failed).toBeInstanceOf(RangeError)
    })

    it('[L10] runs once, although the program was restarted while it waited', async () => {
      const run = vi.fn<(version: string) => string>((version) => version)
      const { askback } = subject()
      const key = (version: string) => `deploy-${version}`
      const first = failureOf(
        askback.session('deploys').withApproval('deploy', run, { key, timeout: '2d' })('1'),
      )
      const { interactionId } = await onlyPending(subject())
      askback.close()
      await first
      const second = guarded(run)('1')
      expect(await onlyPending(subject())).toMatchObject({ interactionId })
      await answer(subject(), { decision: 'approve' })
      expect(await second).toBe('1')
      expect(run).toHaveBeenCalledOnce()
    })

    it('[L10] does not run again in a program that was restarted after it ran', async () => {
      const run = vi.fn<(version: string) => string>((version) => version)
      const first = guarded(run)('1')
      await answer(subject(), { decision: 'approve' })
      await first
      expect(await failureOf(guarded(run)('1'))).toMatchObject({ name: 'NotAnswered', reason: 'in_doubt' })
      expect(run).toHaveBeenCalledOnce()
    })

    it('[L10] runs once if it is called twice at the same time', async () => {
      const run = vi.fn<(version: string) => string>((version) => version)
      const deploy = guarded(run)
      const both = [deploy('1'), deploy('1')].map((call) => failureOf(call))
      await answer(subject(), { decision: 'approve' })
      const results = await Promise.all(both)
      expect(run).toHaveBeenCalledOnce()
      expect(results).toContainEqual({ resolved: '1' })
      expect(results).toContainEqual(expect.objectContaining({ reason: 'in_doubt' }))
    })

    it('asks for each call of its own without a key', async () => {
      const run = vi.fn<() => string>(() => 'done')
      const restart = subject().askback.session('deploys').withApproval('restart', run)
      for (let times = 0; times < 2; times += 1) {
        const restarted = restart(null)
        await answer(subject(), { decision: 'approve' })
        expect(await restarted).toBe('done')
      }
      expect(run).toHaveBeenCalledTimes(2)
    })

    it('takes signals for each call', async () => {
      const leaving = new AbortController()
      const deploy = guarded((version) => version)
      const ended = failureOf(deploy('1', { cancelOn: leaving.signal }))
      await onlyPending(subject())
      leaving.abort()
      expect(await ended).toMatchObject({ reason: 'cancelled' })
      // @ts-expect-error -- timeout is no option of a call
      expect(await failureOf(deploy('2', { timeout: 1 }))).toMatchObject({ code: 'invalid_request' })
    })
  })
}
