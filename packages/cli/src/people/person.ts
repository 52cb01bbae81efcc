import type { Interaction } from '@askback/protocol'
import type { Where } from '../reach/connection.js'
import { Gateway } from '../reach/gateway.js'
import { say } from '../output.js'

/** The gateway in a person's name. */
export function asPerson(where: Where): Gateway {
  return new Gateway('person', where, { env: process.env, say })
}

/** All pages of a list. */
export async function allOf<Item>(gateway: Gateway, path: string, name: string): Promise<Item[]> {
  const items: Item[] = []
  let next: string | null = null
  do {
    const after: string = next === null ? '' : `&after=${next}`
    const page: Record<string, Item[]> & { next: string | null } = await gateway.json({
      method: 'GET',
      path: `${path}?limit=1000${after}`,
    })
    items.push(...(page[name] ?? []))
    ;({ next } = page)
  } while (next !== null)
  return items
}

export async function findInteraction(gateway: Gateway, id: string): Promise<Interaction> {
  const path = `/api/interactions/${encodeURIComponent(id)}`
  return (await gateway.json<{ interaction: Interaction }>({ method: 'GET', path })).interaction
}
