// Removes compiled files whose source no longer exists, and source maps, which earlier builds wrote. `tsc -b` leaves them,
// and `npm pack` would publish them.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './workspace.mjs'

for (const name of readdirSync(join(root, 'packages'))) {
  const dist = join(root, 'packages', name, 'dist')
  if (!existsSync(dist)) continue
  for (const path of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    const output = /^(.*?)(?:\.d\.ts|\.js)(?:\.map)?$/u.exec(path)
    if (!output) continue
    const source = join(root, 'packages', name, 'src', output[1] ?? '')
    if (path.endsWith('.map')) rmSync(join(dist, path))
    else if (!existsSync(`${source}.ts`) && !existsSync(`${source}.tsx`)) rmSync(join(dist, path))
  }
}
