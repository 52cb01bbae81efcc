import { demoAgent } from '@askback/agents/demo'
import { DirectTransport } from '@askback/client'
import { createDesk, createHost, memoryStore, type Store } from '@askback/core'
import { indexedDbStore } from '@askback/store-indexeddb'
import { mount } from '@askback/web/mount'

/** Long enough for the page before a reload to release its lock. */
const LOCK_WAIT_MS = 500

// The playground: desk, agent and app in one page, without a server.
const { store, banner } = await openStore()
const desk = createDesk({ store, onError: reportError })
const host = createHost({ desk, agents: [demoAgent()], onError: reportError })

mount(new DirectTransport(host, { actor: { id: 'you', name: 'You' } }), { personId: 'you', banner })

/** The tab that has the database also runs the agents on it. Other tabs, and browsers that block storage, start over at each reload. */
async function openStore(): Promise<{ store: Store; banner: string }> {
  const whereItRuns = 'Playground: the agent, its log and this page all run in your browser.'
  try {
    if (!(await isOnlyTab())) throw new Error('The playground is open in another tab.')
    return { store: await indexedDbStore({ name: 'askback-playground' }), banner: whereItRuns }
  } catch (error) {
    // The address may name a session that was lost with the previous page.
    location.hash = ''
    const reason = error instanceof Error ? error.message : String(error)
    return { store: memoryStore(), banner: `${whereItRuns} ${reason} A reload of this tab starts over.` }
  }
}

/** Resolves when this page holds the lock, which it does until it ends. */
function isOnlyTab(): Promise<boolean> {
  return new Promise((resolve) => {
    navigator.locks
      .request('askback-playground', { signal: AbortSignal.timeout(LOCK_WAIT_MS) }, () => {
        resolve(true)
        return new Promise(() => undefined)
      })
      .catch(() => resolve(false))
  })
}
