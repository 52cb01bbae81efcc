import { PassThrough } from 'node:stream'
import {
  connectorContract,
  type ConnectorUnderTest,
  type VisibleCard,
} from '../testing/connector-contract.js'
import { terminalConnector } from './terminal.js'

connectorContract(
  'a plain terminal',
  async (): Promise<ConnectorUnderTest> => {
    const input = new PassThrough()
    const output = new PassThrough()
    const ada = { id: 'ada', name: 'Ada' }
    let seen = ''
    output.setEncoding('utf8').on('data', (data: string) => (seen += data))
    let attended: Promise<void> = Promise.resolve()
    return {
      make() {
        const terminal = terminalConnector({ input, output, keys: false, by: ada })
        attended = terminal.attend()
        return terminal
      },
      place: 'terminal',
      actor: () => ada,
      screen: async () => ({ cards: cardsIn(seen), everything: seen }),
      async tap(label) {
        const { controls = [] } = cardsIn(seen)[0] ?? {}
        const found = controls.findIndex((each) => each.startsWith(label))
        if (found < 0) throw new Error(`no choice ${label}`)
        input.write(seen.trimEnd().endsWith('type a text.') ? `${found + 1}\n` : `${controls[found]}\n`)
      },
      type: async (text) => void input.write(`${text}\n`),
      async end() {
        input.end()
        await attended
      },
    }
  },
  { isTransient: true },
)

/** The card above the last prompt, with what the prompt offers. */
function cardsIn(seen: string): VisibleCard[] {
  const last = seen.trimEnd().split('\n').at(-1) ?? ''
  if (!last.startsWith('? ')) return []
  const rows = seen.trimEnd().split('\n').slice(0, -1)
  const controls: string[] = []
  for (const row of rows.toReversed()) {
    const [, label] = /^ {2}(?:\d+\)|-) (?:\[.\] )?(.*)$/.exec(row) ?? []
    if (label === undefined && !row.startsWith('(')) break
    if (label !== undefined) controls.unshift(label)
  }
  const text = seen.slice(seen.lastIndexOf('── '))
  return [{ text, controls }]
}
