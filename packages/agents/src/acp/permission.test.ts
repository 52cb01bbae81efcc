import { createDesk, memoryStore, jumpAwareClock } from '@askback/core'
import type { Interaction } from '@askback/protocol'
import { expect, it, onTestFinished } from 'vitest'
import { Grants } from '../session/approval.js'
import { editScopeOf } from '../session/edit-scope.js'
import { answerPermission } from './permission.js'
import type { PermissionOption } from './protocol.js'

const options: PermissionOption[] = [
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
]

it('[L11] asks again about a call that changed at the moment of the answer', async () => {
  const desk = createDesk({ store: memoryStore(), onError: (error) => expect.unreachable(String(error)) })
  onTestFinished(() => desk.close())
  await desk.createSession({ id: 's', agent: 'acp' })
  const session = desk.session('s')
  let input = { command: 'ls' }
  const answer = answerPermission(
    { sessionId: 'own', toolCall: { toolCallId: 'c' }, options },
    {
      session,
      editScope: editScopeOf(session, { cwd: null }),
      clock: jumpAwareClock,
      grants: new Grants(),
      agentName: 'Agent',
      programName: undefined,
      signal: () => new AbortController().signal,
      logCall: async () => {},
      getCall: () => ({ call: { toolCallId: 'c', rawInput: input }, toolName: 'shell', input }),
      // The answer arrives before the change is reported.
      watchCall: () => () => {},
      toolNameOf: () => 'shell',
      tellModel: () => {},
      reportNotice: async () => {},
      startFresh: () => {},
    },
  )
  const pending = async () => (await desk.pending()).interactions
  const asksAbout = async (command: string): Promise<Interaction> => {
    await expect.poll(pending).toMatchObject([{ request: { input: { command } } }])
    return (await pending())[0]!
  }
  const approve = ({ interactionId }: Interaction) =>
    desk.as({ via: 'web' }).respond({ sessionId: 's', interactionId, answer: { decision: 'approve' } })
  const first = await asksAbout('ls')
  input = { command: 'rm -rf .' }
  await approve(first)
  await approve(await asksAbout('rm -rf .'))
  expect(await answer).toEqual({ outcome: { outcome: 'selected', optionId: 'yes' } })
})
