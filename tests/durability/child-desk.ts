// Runs a desk on a database in its own process, which the parent kills at any moment.
import { createDesk, type Desk, type Store } from '@askback/core'
import { AskbackError, type SessionEvent } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'

export type DeskCall =
  | { do: 'start'; path: string }
  | { do: 'create'; sessionId: string }
  | { do: 'ask'; sessionId: string; key: string }
  | { do: 'answer'; sessionId: string; interactionId: string; key: string }
  | { do: 'inspect'; sessionId: string }
  | { do: 'count' }

export type DeskReply = { ok: true; value: unknown } | { ok: false; code: string; message: string }

export interface SessionContents {
  events: SessionEvent[]
  pending: string[]
}

let store: Store
let desk: Desk

process.on('message', ({ id, call }: { id: number; call: DeskCall }) => {
  run(call).then(
    (value) => reply(id, { ok: true, value }),
    (error: unknown) => {
      const code = error instanceof AskbackError ? error.code : 'crash'
      reply(id, { ok: false, code, message: String(error) })
    },
  )
})

async function run(call: DeskCall): Promise<unknown> {
  switch (call.do) {
    case 'start':
      // As in a gateway, large batches are committed in another thread. Checkpoints are frequent, so that some kills happen
      // during a checkpoint.
      store = sqliteStore({ path: call.path, commitInThread: true, checkpointMs: 10 })
      desk = createDesk({ store })
      return desk.ready
    case 'create':
      return (await desk.createSession({ id: call.sessionId, agent: null, idempotencyKey: call.sessionId }))
        .created
    case 'ask':
      return ask(call)
    case 'answer':
      return answer(call)
    case 'inspect':
      return inspect(call.sessionId)
    case 'count':
      return store.countPending()
    default:
      return call satisfies never
  }
}

/** The idempotency key is the text of the question, so that the log shows to which call it belongs. */
async function ask({ sessionId, key }: { sessionId: string; key: string }): Promise<string> {
  const question = { header: 'Crash', question: key, options: [], multiSelect: false }
  const { interaction } = await desk.open({
    sessionId,
    kind: 'question',
    request: { questions: [question] },
    timeoutMs: null,
    idempotencyKey: key,
  })
  return interaction.interactionId
}

async function answer(call: { sessionId: string; interactionId: string; key: string }): Promise<void> {
  const { sessionId, interactionId, key } = call
  const answer = { answers: [{ selected: [], other: key }] }
  await desk
    .as({ by: { id: key }, via: 'http' })
    .respond({ sessionId, interactionId, answer, idempotencyKey: key })
}

async function inspect(sessionId: string): Promise<SessionContents> {
  const events = await store.read({ sessionId, limit: Infinity })
  const pending = await store.pending({ sessionId, limit: Infinity })
  return { events, pending: pending.items.map(({ interactionId }) => interactionId) }
}

function reply(id: number, reply: DeskReply): void {
  process.send!({ id, reply })
}
