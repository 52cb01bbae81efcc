import type { Change, Store } from '@askback/core'
import { AskbackError, type Interaction, type Session, type SessionTags } from '@askback/protocol'
import type { ConnectorDesk, PersonActions } from './connector-desk.js'

const SESSIONS_PAGE = 100

/**
 * A desk that has only the sessions with all of these tags. The tags are read from the store with each call, so a change counts at
 * once. A session that loses a tag looks like one that was erased: its cards are closed.
 */
export function taggedDesk(desk: ConnectorDesk, store: Store, tags: SessionTags): ConnectorDesk {
  const wanted = Object.entries(tags)
  const isWanted = (session: Pick<Session, 'tags'> | null) =>
    session !== null && wanted.every(([name, value]) => tagOf(session, name) === value)
  const has = async (sessionId: string) => isWanted(await store.session(sessionId))

  async function check(sessionId: string): Promise<void> {
    if (!(await has(sessionId))) throw new AskbackError('not_found', `There is no session ${sessionId}.`)
  }

  /** Asks once for each session. */
  async function only<Item extends { sessionId: string }>(items: Item[]): Promise<(item: Item) => boolean> {
    const ids = [...new Set(items.map(({ sessionId }) => sessionId))]
    const found = new Set<string>()
    for (const id of ids) if (await has(id)) found.add(id)
    return ({ sessionId }) => found.has(sessionId)
  }

  return {
    ...desk,
    isPartial: true,
    async changes(query) {
      const page = await desk.changes(query)
      const isOurs = await only(page)
      // Not left out: the reader takes an empty page for the end, and saves the cursor of each change.
      return page.map((change): Change => (isOurs(change) ? change : { ...change, events: [] }))
    },
    async pending() {
      const all = await desk.pending()
      const isOurs = await only<Interaction>(all)
      return all.filter(isOurs)
    },
    async interaction(sessionId, interactionId) {
      await check(sessionId)
      return desk.interaction(sessionId, interactionId)
    },
    async prompt(sessionId, interactionId) {
      await check(sessionId)
      return desk.prompt(sessionId, interactionId)
    },
    session: async (sessionId) => ((await has(sessionId)) ? desk.session(sessionId) : null),
    async sessions(limit) {
      const found: Session[] = []
      let after: string | undefined
      do {
        const page = await store.sessions({ limit: SESSIONS_PAGE, ...(after !== undefined && { after }) })
        found.push(...page.items.filter(isWanted))
        after = page.next ?? undefined
      } while (after !== undefined && found.length < limit)
      return found.slice(0, limit)
    },
    as: (person) => checked(desk.as(person), { check, tags }),
  }
}

function checked(
  person: PersonActions,
  { check, tags }: { check: (sessionId: string) => Promise<void>; tags: SessionTags },
): PersonActions {
  const inSession =
    <Input extends { sessionId: string }, Result>(act: (input: Input) => Promise<Result>) =>
    async (input: Input) => {
      await check(input.sessionId)
      return act(input)
    }
  const onSession =
    <Rest extends unknown[]>(act: (sessionId: string, ...rest: Rest) => Promise<void>) =>
    async (sessionId: string, ...rest: Rest) => {
      await check(sessionId)
      return act(sessionId, ...rest)
    }
  return {
    respond: inSession((input) => person.respond(input)),
    progress: inSession((input) => person.progress(input)),
    message: inSession((input) => person.message(input)),
    createSession: (body) => person.createSession({ ...body, tags: { ...body.tags, ...tags } }),
    interrupt: onSession((sessionId, options) => person.interrupt(sessionId, options)),
    clear: onSession((sessionId, options) => person.clear(sessionId, options)),
    setPermissionMode: onSession((sessionId, mode, options) =>
      person.setPermissionMode(sessionId, mode, options),
    ),
  }
}

function tagOf({ tags }: Pick<Session, 'tags'>, name: string): string | undefined {
  return tags && Object.hasOwn(tags, name) ? tags[name] : undefined
}
