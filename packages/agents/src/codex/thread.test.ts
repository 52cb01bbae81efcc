import { describe, expect, it } from 'vitest'
import { JsonRpcConnection } from '../program/json-rpc.js'
import { decidesAloneNotice, resumeThread, startThread } from './thread.js'

const settings = { cwd: '/work', model: null }

/** A `codex app-server` that accepts these approval policies, and the requests that it got. */
function fakeServer(policies: string[], effective: object = {}) {
  const requests: { method: string; approvalPolicy: string }[] = []
  let receive: (text: string) => void = () => {}
  const connection = new JsonRpcConnection(
    {
      listen: (onMessage) => (receive = onMessage),
      send(text) {
        const { id, method, params } = JSON.parse(text) as {
          id: number
          method: string
          params: { approvalPolicy: string }
        }
        const { approvalPolicy } = params
        requests.push({ method, approvalPolicy })
        const message = `Invalid request: unknown variant \`${approvalPolicy}\`, expected one of \`${policies.join('`, `')}\``
        const result = {
          thread: { id: 't1' },
          model: 'm',
          approvalPolicy,
          approvalsReviewer: 'user',
          ...effective,
        }
        receive(
          JSON.stringify(policies.includes(approvalPolicy) ? { id, result } : { id, error: { message } }),
        )
      },
    },
    { request: () => Promise.resolve(), notification: () => Promise.resolve(), failed: () => {} },
  )
  return { connection, requests }
}

describe('a thread', () => {
  it('is opened with the policy that asks about everything not known to be harmless', async () => {
    const { connection, requests } = fakeServer(['untrusted', 'on-request'])
    const opened = await startThread(connection, settings)
    expect(requests).toEqual([{ method: 'thread/start', approvalPolicy: 'untrusted' }])
    expect(decidesAloneNotice(opened)).toBeNull()
  })

  it('is opened with the next policy, and a notice, if Codex refuses the strictest one', async () => {
    const { connection, requests } = fakeServer(['on-request', 'never'])
    const opened = await startThread(connection, settings)
    expect(requests.map(({ approvalPolicy }) => approvalPolicy)).toEqual(['untrusted', 'on-request'])
    expect(decidesAloneNotice(opened)).toBe(
      'Codex decides by itself what to run inside its sandbox: its approval policy is “on-request” here, so it asks you only to leave the sandbox.',
    )
    expect((await resumeThread(connection, 't1', settings))?.thread.id).toBe('t1')
  })

  it('is not opened if Codex accepts no policy that asks', async () => {
    const { connection } = fakeServer(['never'])
    await expect(startThread(connection, settings)).rejects.toThrow(
      'This Codex cannot ask for approval: it takes neither of the policies “untrusted” and “on-request”.',
    )
  })

  it.each([
    [{ approvalPolicy: 'never' }, 'its approval policy is “never” here, so it asks nobody'],
    [{ approvalsReviewer: 'auto_review' }, 'a model approves what it does, not you'],
    [{ approvalPolicy: { granular: {} } }, 'its approval policy is “granular” here'],
  ])('has a notice about who decides if its settings are overruled by %j', async (effective, notice) => {
    const { connection } = fakeServer(['untrusted'], effective)
    expect(decidesAloneNotice(await startThread(connection, settings))).toContain(notice)
  })

  it('has no notice if an older Codex does not report its policy', async () => {
    const { connection } = fakeServer(['untrusted'], {
      approvalPolicy: undefined,
      approvalsReviewer: undefined,
    })
    expect(decidesAloneNotice(await startThread(connection, settings))).toBeNull()
  })
})
