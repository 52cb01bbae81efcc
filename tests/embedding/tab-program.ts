import { createDesk, type Desk, type Store } from '@askback/core'
import { indexedDbStore } from '@askback/store-indexeddb'

/*
 * What a tab of the tests runs: a desk on the database that all tabs share. It polls so rarely that only a doorbell can bring it
 * what another tab wrote.
 */

const HOUR_MS = 3_600_000

export interface TabProgram {
  readonly desk: Promise<Desk>
  readonly store: Promise<Store>
  open: (text: string) => Promise<string>
  /** Why opening the store failed, or `null`. */
  refusal: () => Promise<string | null>
}

const store = indexedDbStore({ name: 'tabs' })
const desk = store.then(async (opened) => {
  const made = createDesk({ store: opened, repairMs: HOUR_MS, maxStaleMs: HOUR_MS })
  await made.ready
  await made.createSession({ id: 's', agent: null }).catch(async (error: unknown) => {
    // Another tab may have created it.
    if (!(await opened.session('s'))) throw error
  })
  return made
})
desk.catch(() => undefined)

const tab: TabProgram = {
  desk,
  store,
  async open(plan) {
    const { interaction } = await (
      await desk
    ).open({
      sessionId: 's',
      kind: 'plan_review',
      request: { plan },
      timeoutMs: null,
    })
    return interaction.interactionId
  },
  refusal: () => store.then(() => null, String),
}
Object.assign(globalThis, { tab })
