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

    it('[L10] does not run again in a program that was restarted after it ran: it has the result', async () => {
      const run = vi.fn<(version: string) => object>((version) => ({ version, 'took ms': [5] }))
      const deploy = () =>
        subject()
          .restarted()
          .session('deploys')
          .withApproval('deploy', run, { key: (version) => version })('1')
      const first = deploy()
      await answer(subject(), { decision: 'approve' })
      expect(await first).toEqual({ version: '1', 'took ms': [5] })
      expect(await deploy()).toEqual({ version: '1', 'took ms': [5] })
      expect(await deploy()).toEqual({ version: '1', 'took ms': [5] })
      expect(run).toHaveBeenCalledOnce()
    })

    it('[L10] that returned nothing or failed is not run again, either', async () => {
      const run = vi.fn<(version: string) => void>((version) => {
        if (version === 'bad') throw new RangeError('no such version')
      })
      const deploy = (version: string) =>
        failureOf(
          subject().restarted().session('deploys').withApproval('deploy', run, { key: String })(version),
        )
      const first = deploy('good')
      await answer(subject(), { decision: 'approve' })
      expect(await first).toEqual({ resolved: undefined })
      expect(await deploy('good')).toEqual({ resolved: null })
      const second = deploy('bad')
      await answer(subject(), { decision: 'approve' })
      expect(await second).toBeInstanceOf(RangeError)
      expect(await deploy('bad')).toMatchObject({
        name: 'CallFailed',
        message: 'no such version',
        interaction: { toolName: 'deploy' },
      })
      expect(run).toHaveBeenCalledTimes(2)
    })

    it.each<[string, () => unknown]>([
      ['is no JSON', () => new Map()],
      ['is too long', () => 'x'.repeat(300_000)],
    ])('[L10] whose result %s is in doubt after a restart', async (_, run) => {
      const deploy = () =>
        subject()
          .restarted()
          .session('deploys')
          .withApproval('deploy', run, { key: () => 'k' })(null)
      const first = deploy()
      await answer(subject(), { decision: 'approve' })
      expect(await first).toEqual(run())
      expect(await failureOf(deploy())).toMatchObject({ name: 'NotAnswered', reason: 'in_doubt' })
    })

    it('[L10] has its result by its key in the session of an agent, too, and stores none without a key', async () => {
      const { askback } = subject()
      const id = await askback.session('agent').id()
      const deploy = (options: object) =>
        subject()
          .restarted()
          .session({ id })
          .withApproval(
            'deploy',
            () => 'done',
            options,
          )(null)
      const first = deploy({ key: () => 'k' })
      await answer(subject(), { decision: 'approve' })
      expect([await first, await deploy({ key: () => 'k' })]).toEqual(['done', 'done'])
      for (const options of [{}, { key: () => 'of a call', toolCallId: 'call of the agent' }]) {
        const other = deploy(options)
        await answer(subject(), { decision: 'approve' })
        expect(await other).toBe('done')
      }
      const results = (await subject().backend.log(id)).filter(({ type }) => type === 'tool_result')
      expect(results).toMatchObject([{ output: 'done', isError: false }])
    })

    it('[L10] runs once if it is called twice at the same time: the second is in doubt while the first runs', async () => {
      let finish = () => {}
      const finished = new Promise<void>((resolve) => (finish = resolve))
      const run = vi.fn<(version: string) => Promise<string>>((version) => finished.then(() => version))
      const deploy = () =>
        subject().restarted().session('deploys').withApproval('deploy', run, { key: String })('1')
      const both = [deploy(), deploy()].map((call) => failureOf(call))
      await answer(subject(), { decision: 'approve' })
      expect(await Promise.race(both)).toMatchObject({ reason: 'in_doubt' })
      finish()
      expect(await Promise.all(both)).toContainEqual({ resolved: '1' })
      expect(await deploy()).toBe('1')
      expect(run).toHaveBeenCalledOnce()
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
