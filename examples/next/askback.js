import { createAskback } from '@askback/gateway'
import { sqlite } from '@askback/store-sqlite'

// Who a request comes from: return what your own login knows, or `null`.
const authenticate = () => ({ id: 'ada', name: 'Ada', role: 'person' })

function start() {
  const askback = createAskback({ store: sqlite('./askback.db') })
  return { askback, handlers: askback.fetchHandlers({ prefix: '/askback', authenticate }) }
}

/** Next.js loads this file more than once, and also while it builds: so the first request starts Askback, for the whole process. */
export const started = () => (globalThis.askback ??= start())
