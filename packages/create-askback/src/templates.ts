import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A template is an example of the repository, packed into this package. */
export interface Template {
  readonly name: string
  readonly description: string
  readonly folder: string
}

interface TemplateManifest {
  description: string
  scripts: Record<string, string>
  dependencies: Record<string, string>
  devDependencies?: Record<string, string>
}

/** Its message is one sentence for the person who runs the command. */
export class CreateError extends Error {}

/** What somebody who tries a template leaves behind. npm does not publish a `.gitignore`, so it is written here. */
const GITIGNORE = ['node_modules', 'dist', '.next', 'askback.db*', '']

export function readTemplates(folder: string = templatesFolder()): Template[] {
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'package.json')))
    .map((name) => ({
      name,
      folder: join(folder, name),
      description: readManifest(join(folder, name)).description,
    }))
}

export function findTemplate(templates: readonly Template[], name: string): Template {
  const found = templates.find((template) => template.name === name)
  if (found) return found
  const names = templates.map((template) => template.name).join(', ')
  throw new CreateError(`There is no template ${JSON.stringify(name)}: choose one of ${names}.`)
}

/** Throws if the folder has files. A new Git repository counts as empty. */
export function checkIsEmpty(folder: string): void {
  const files = listFiles(folder).filter((name) => name !== '.git')
  if (files.length > 0)
    throw new CreateError(`The folder ${folder} is not empty: name another one, or remove what is in it.`)
}

/** Copies the template, and names the package after the folder. */
export function createFrom(template: Template, folder: string): void {
  checkIsEmpty(folder)
  const { scripts, dependencies, devDependencies } = readManifest(template.folder)
  const name = packageName(folder)
  const manifest = { name, version: '0.0.0', private: true, type: 'module', scripts, dependencies }
  try {
    mkdirSync(folder, { recursive: true })
    cpSync(template.folder, folder, { recursive: true })
    const text = JSON.stringify({ ...manifest, ...(devDependencies && { devDependencies }) }, null, 2)
    writeFileSync(join(folder, 'package.json'), `${text}\n`)
    writeFileSync(join(folder, '.gitignore'), GITIGNORE.join('\n'))
  } catch (error) {
    throw new CreateError(`The folder ${folder} cannot be written: ${messageOf(error)}`, { cause: error })
  }
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT') return []
    if (code === 'ENOTDIR') throw new CreateError(`${folder} is a file: name another folder.`)
    throw new CreateError(`The folder ${folder} cannot be read: ${messageOf(error)}`, { cause: error })
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The name of the folder, as far as npm allows it in a name. */
function packageName(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/gu, '-')
    .replace(/^[-._]+/u, '')
  return name === '' ? 'askback-app' : name
}

function readManifest(folder: string): TemplateManifest {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- packed with this package, and read by its test
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as TemplateManifest
}

/** In the repository, where nothing is packed, the examples themselves. */
function templatesFolder(): string {
  const folders = ['./templates', '../../../examples']
  return folders.map((path) => fileURLToPath(new URL(path, import.meta.url))).find(existsSync) ?? ''
}
