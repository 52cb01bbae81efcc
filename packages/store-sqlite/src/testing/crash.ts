import { copyFileSync, existsSync } from 'node:fs'

const FILES = ['', '-wal', '-mark'] as const
type FileName = (typeof FILES)[number]

/** The files as a process leaves them that is killed now, under another name, perhaps without some of them. */
export function killedCopy(path: string, to: string, without: FileName[] = []): string {
  for (const name of FILES)
    if (!without.includes(name) && existsSync(`${path}${name}`))
      copyFileSync(`${path}${name}`, `${to}${name}`)
  return to
}
