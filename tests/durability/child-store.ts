// Runs a store in its own process, with the operations that its parent sends.
import type { Append, Store } from '@askback/core'
import type { AskbackError } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'

export type StoreCall =
  | { do: 'open'; path: string; commitInThread?: boolean; checkpointMs?: number }
  | { do: 'append'; appends: Append[] }
  | { do: 'read'; sessionId: string }
  | { do: 'close' }

export type StoreReply =
  | { ok: true; value: unknown }
  | { ok: false; error: { code: string; message: string } }

let store: Store | undefined

process.on('message', ({ id, call }: { id: number; call: StoreCall }) => {
  run(call).then(
    (value) => reply(id, { ok: true, value }),
    (error: unknown) => {
      const { code, message } = error as AskbackError
      reply(id, { ok: false, error: { code, message } })
    },
  )
})

async function run(call: StoreCall): Promise<unknown> {
  if (call.do === 'open') {
    const { path, commitInThread = false, checkpointMs } = call
    store = sqliteStore({ path, commitInThread, ...(checkpointMs !== undefined && { checkpointMs }) })
    return process.pid
  }
  if (!store) throw new Error('The store is not open.')
  switch (call.do) {
    case 'append':
      return Promise.all(call.appends.map((append) => store!.append(append)))
    case 'read':
      return store.read({ sessionId: call.sessionId, limit: 1000 })
    case 'close':
      return store.close()
    default:
      return call satisfies never
  }
}

function reply(id: number, reply: StoreReply): void {
  process.send!({ id, reply })
}
