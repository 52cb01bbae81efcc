// Lets the examples use the version of the packages in this repository. Part of `npm run release:version`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'))
for (const name of readdirSync(join(root, 'examples'))) {
  if (name.endsWith('.md')) continue
  const file = join(root, 'examples', name, 'package.json')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replaceAll(/("(?:@askback\/[\w-]+|askback)": )"[^"]*"/gu, `$1"^${version}"`))
}
