import type { Writable } from 'node:stream'

/**
 * A program whose pending call loses its stdin takes that for a refusal, and tells its model so. So it is not our pipe that
 * it reads: a relay in between passes on what we write. When that ends without a word on the relay's own pipe (3), we were
 * killed, and the relay kills the whole group while it still holds the program's stdin open.
 */
const RELAY = `trap '' TERM; echo $$; cat; read -r end <&3 || kill -KILL 0`

/** What the shells themselves would say about those they kill is not the program's complaint. */
const SUPERVISOR = `
exec 4>&2 2>/dev/null
trap : TERM
sh -c '${RELAY.replaceAll("'", `'\\''`)}' | {
  trap : TERM
  read -r relay
  "$@" 3<&- 2>&4 4>&-
  code=$?
  kill -KILL "$relay"
  exit $code
}`

interface Supervised {
  command: string
  args: string[]
}

/** The command that runs a program so that it never outlives us, and never takes our end for an answer. */
export function supervised(command: string, args: string[]): Supervised {
  // Without a shell and process groups nothing better is known than the program itself.
  if (process.platform === 'win32') return { command, args }
  return { command: '/bin/sh', args: ['-c', SUPERVISOR, 'askback', command, ...args] }
}

/** Says that the program's input ends because it should. */
export function letItEnd(pipe: Writable | null): void {
  pipe?.write('end\n')
}
