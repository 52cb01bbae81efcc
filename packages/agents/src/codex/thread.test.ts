import { describe, expect, it } from 'vitest'
import { Peer } from '../program/peer.js'
import { resumeThread, startThread, whoDecides } from './thread.js'

const settings = { cwd: '/work', model: null }

/** A `codex app-server` that takes these approval policies, and what it was asked. */
function server(policies: string[], effective: object = {}) {
  const asked: { method: string; approvalPolicy: string }[] = []
  let answer: (text: string) => void = () => {}
  const peer = new Peer(
    {
      listen: (use) => (answer = use),
      send(text) {
        const { id, method, params } = JSON.parse(text) as {
          id: number
          method: string
          params: { approvalPolicy: string }
        }
        const { approvalPolicy } = params
        asked.push({ method, approvalPolicy })
        const message = `Invalid request: unknown variant \`${approvalPolicy}\`, expected one of \`${policies.join('`, `')}\``
        const result = {
          thread: { id: 't1' },
          model: 'm',
          approvalPolicy,
          approvalsReviewer: 'user',
          ...effective,
        }
        answer(
          JSON.stringify(policies.includes(approvalPolicy) ? { id, result } : { id, error: { message } }),
        )
      },
    },
    { request: () => Promise.resolve(), notification: () => Promise.resolve(), failed: () => {} },
  )
  return { peer, asked }
}

describe('a thread', () => {
  it('asks about everything that is not known to be harmless', async () => {
    const { peer, asked } = server(['untrusted', 'on-request'])
    const opened = await startThread(peer, settings)
    expect(asked).toEqual([{ method: 'thread/start', approvalPolicy: 'untrusted' }])
    expect(whoDecides(opened)).toBeNull()
  })

  it('of a Codex that does not take that policy asks as much as it can, and says so', async () => {
    const { peer, asked } = server(['on-request', 'never'])
    const opened = await startThread(peer, settings)
    expect(asked.map(({ approvalPolicy }) => approvalPolicy)).toEqual(['untrusted', 'on-request'])
    expect(whoDecides(opened)).toBe(
      'Codex decides by itself what to run inside its sandbox: its approval policy is “on-request” here, so it asks you only to leave the sandbox.',
    )
    expect((await resumeThread(peer, 't1', settings))?.thread.id).toBe('t1')
  })

  it('of a Codex that can only be told never to ask is not started', async () => {
    const { peer } = server(['never'])
    await expect(startThread(peer, settings)).rejects.toThrow(
      'This Codex cannot ask for approval: it takes neither of the policies “untrusted” and “on-request”.',
    )
  })

  it.each([
    [{ approvalPolicy: 'never' }, 'its approval policy is “never” here, so it asks nobody'],
    [{ approvalsReviewer: 'auto_review' }, 'a model approves what it does, not you'],
    [{ approvalPolicy: { granular: {} } }, 'its approval policy is “granular” here'],
  ])('whose settings are overruled by %j says who decides', async (effective, told) => {
    const { peer } = server(['untrusted'], effective)
    expect(whoDecides(await startThread(peer, settings))).toContain(told)
  })

  it('of an older Codex that does not tell its policy is taken at its word', async () => {
    const { peer } = server(['untrusted'], { approvalPolicy: undefined, approvalsReviewer: undefined })
    expect(whoDecides(await startThread(peer, settings))).toBeNull()
  })
})
