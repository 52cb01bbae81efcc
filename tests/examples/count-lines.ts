import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from '../architecture/workspace.js'

const CODE = /\.(?:[cm]?[jt]sx?|py)$/u
const BUILD_SETTINGS = /\.config\.\w+$/u
const GENERATED = /(?:^|\/)(?:node_modules|dist|\.next|home)\//u

/** The lines that an embedder writes in files of the repository: those that are not blank. Comments count. */
export function countLines(...paths: string[]): number {
  const lines = paths.flatMap((path) => readFileSync(join(root, path), 'utf8').split('\n'))
  return lines.filter((line) => line.trim() !== '').length
}

/** The files of an example that somebody wrote as code. Manifests, pages without code and settings of build tools do not count. */
export function codeOf(example: string): string[] {
  const folder = join(root, 'examples', example)
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && CODE.test(entry.name) && !BUILD_SETTINGS.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !GENERATED.test(path) && path !== 'examples/obsidian/main.js')
}
