import { describe, expect, it, vi } from 'vitest'
import type { SessionEvent } from '@askback/protocol'
import { answer, eventually, failureOf, faultsOf, onlyPending, picks, type AskingSubject } from './subject.js'

/** Whatever goes wrong on the way, a request is made once and its answer arrives. */
export function askingFaultsConform(subject: () => AskingSubject): void {
  const choices = ['A', 'B'] as const
  const session = () => subject().askback.session('faults')
  const responses = async () =>
    (await subject().backend.log(await session().id())).filter(({ type }) => type === 'interaction_request')

  describe('a wait goes on', () => {
    it('after its connection was cut, again and again', async () => {
      const asked = session().choose('Which?', choices)
      await onlyPending(subject())
      for (let times = 0; times < 3; times += 1) {
        faultsOf(subject()).cut()
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
    })

    it('after the gateway was restarted', async () => {
      const asked = session().choose('Which?', choices)
      await onlyPending(subject())
      await faultsOf(subject()).restart()
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
      expect(await responses()).toHaveLength(1)
    })

    it('with an answer that was given while the program was offline', async () => {
      const asked = session().choose('Which?', choices)
      await onlyPending(subject())
      faultsOf(subject()).offline()
      await answer(subject(), picks('A'))
      faultsOf(subject()).online()
      expect(await asked).toBe('A')
    })

    it('after the gateway answered 503', async () => {
      const asked = session().choose('Which?', choices)
      await onlyPending(subject())
      faultsOf(subject()).refuse(3)
      faultsOf(subject()).cut()
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
    })
  })

  describe('a request is made once', () => {
    it('although its reply was lost', async () => {
      await session().id()
      faultsOf(subject()).loseNextReply()
      const asked = session().choose('Which?', choices)
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
      expect(await responses()).toHaveLength(1)
    })

    it('although the gateway was not there at first', async () => {
      faultsOf(subject()).offline()
      const asked = session().choose('Which?', choices)
      await new Promise((resolve) => setTimeout(resolve, 30))
      faultsOf(subject()).online()
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
    })

    it('although the gateway answered 503', async () => {
      faultsOf(subject()).refuse(3)
      const asked = session().choose('Which?', choices)
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
      expect(await responses()).toHaveLength(1)
    })
  })

  describe('[L10] an approved call', () => {
    it('does not run if the reply with its approval was lost: nobody knows who got it', async () => {
      const run = vi.fn<() => string>(() => 'done')
      const ended = failureOf(session().withApproval('deploy', run)(null))
      await onlyPending(subject())
      faultsOf(subject()).loseNextSettlement()
      await answer(subject(), { decision: 'approve' })
      expect(await ended).toMatchObject({ name: 'NotAnswered', reason: 'in_doubt' })
      expect(run).not.toHaveBeenCalled()
    })

    it('has its result although the gateway was away when it ended', async () => {
      const run = vi.fn<() => string>(() => {
        faultsOf(subject()).offline()
        return 'done'
      })
      const deploy = () => session().withApproval('deploy', run, { key: () => 'k' })(null)
      const running = deploy()
      await answer(subject(), { decision: 'approve' })
      await eventually(() => expect(run).toHaveBeenCalledOnce())
      faultsOf(subject()).online()
      expect([await running, await deploy()]).toEqual(['done', 'done'])
      expect(run).toHaveBeenCalledOnce()
    })

    it('runs once after a restart of the gateway', async () => {
      const run = vi.fn<() => string>(() => 'done')
      const running = session().withApproval('deploy', run)(null)
      await onlyPending(subject())
      await faultsOf(subject()).restart()
      await answer(subject(), { decision: 'approve' })
      expect(await running).toBe('done')
      expect(run).toHaveBeenCalledOnce()
    })
  })

  describe('the events of a session', () => {
    it('come once and in order, although they arrive twice, in another order, and over several connections', async () => {
      const events: SessionEvent[] = []
      const stopping = new AbortController()
      faultsOf(subject()).shuffle(true)
      const here = session()
      const reading = (async () => {
        for await (const event of here.events({ signal: stopping.signal })) events.push(event)
      })()
      for (let times = 0; times < 3; times += 1) {
        const asked = here.choose('Which?', choices)
        await answer(subject(), picks('A'))
        await asked
        if (times === 0) faultsOf(subject()).cut()
        if (times === 1) await faultsOf(subject()).restart()
      }
      const log = await subject().backend.log(await here.id())
      await eventually(() => expect(events).toEqual(log))
      stopping.abort()
      await reading
    })
  })

  describe('the requests of all sessions', () => {
    it('are found again after the connection was lost', async () => {
      const stopping = new AbortController()
      const seen: string[] = []
      const reading = (async () => {
        for await (const { interactionId } of subject().person.requests({ signal: stopping.signal }))
          seen.push(interactionId)
      })()
      await faultsOf(subject()).restart()
      const asked = session().choose('Which?', choices)
      const { interactionId } = await onlyPending(subject())
      await eventually(() => expect(seen).toEqual([interactionId]))
      stopping.abort()
      await reading
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
    })
  })
}
