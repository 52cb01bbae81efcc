import type { Interaction, Session } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { shortDuration } from './duration.js'
import { allOf, asPerson } from './people/person.js'
import { summaryOf } from './people/summary.js'
import { cutTo, table } from './people/table.js'
import { WHERE } from './reach/connection.js'
import { printJson } from './output.js'

/** Without a terminal a request still has one line that can be read; `--json` has all of it. */
const COLUMNS_WITHOUT_TERMINAL = 200
const TITLE_COLUMNS = 24

/** `askback pending`: what waits for a person, oldest first. */
export async function pending(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { ...WHERE, json: { type: 'boolean', default: false } } })
  const gateway = asPerson(values)
  const items = await allOf<Interaction>(gateway, '/api/interactions', 'interactions')
  if (values.json) printJson({ interactions: items })
  else if (items.length === 0) process.stderr.write('All caught up.\n')
  else {
    const sessions = await allOf<Session>(gateway, '/api/sessions', 'sessions')
    const titles = new Map(sessions.map(({ id, title, agent }) => [id, title ?? agent ?? 'outside']))
    const now = Date.now()
    const columns = process.stdout.isTTY ? process.stdout.columns : COLUMNS_WITHOUT_TERMINAL
    process.stdout.write(
      table(
        items.map((item) => row(item, titles.get(item.sessionId) ?? '', now)),
        { columns },
      ),
    )
  }
  return 0
}

function row(item: Interaction, title: string, now: number): string[] {
  const { interactionId, kind, requestedAt, expiresAt } = item
  const age = `${shortDuration(now - requestedAt)} ago`
  const deadline = expiresAt === undefined ? 'no limit' : `${shortDuration(expiresAt - now)} left`
  return [interactionId, kind, cutTo(title, TITLE_COLUMNS), age, deadline, summaryOf(item)]
}
