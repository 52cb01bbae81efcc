// Runs before `create-askback` is packed or published, and copies the examples into it, as its templates. With `--remove` it runs
// afterwards and removes the copy, which would hide newer examples of this workspace.
import { cpSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from './workspace.mjs'

/** What somebody who tried an example has left in its folder. */
const GENERATED =
  /(?:^|\/)(?:node_modules|dist|\.next|package-lock\.json|askback\.db[^/]*)$|^obsidian\/(?:main\.js|styles\.css)$/u

const examples = join(root, 'examples')
const templates = join(root, 'packages/create-askback/dist/templates')
rmSync(templates, { recursive: true, force: true })
if (!process.argv.includes('--remove')) {
  cpSync(examples, templates, {
    recursive: true,
    filter: (path) => !GENERATED.test(relative(examples, path)),
  })
}
