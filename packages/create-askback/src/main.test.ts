import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { main } from './main.js'
import { readTemplates } from './templates.js'

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'askback-create-'))
})
afterEach(() => rmSync(place, { recursive: true }))

/** Runs the command for somebody who gives these answers, or, without any, for a script. */
async function create(args: string[], answers?: string[]) {
  const printed = { out: '', err: '' }
  const code = await main(args, {
    ask: answers ? async () => answers.shift() ?? '' : null,
    print: (text) => (printed.out += text),
    printError: (text) => (printed.err += text),
  })
  return { code, ...printed }
}

const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>

describe('npm create askback', () => {
  it('writes a folder from the named template, with a package of that name', async () => {
    const folder = join(place, 'My Shop')
    const { code, out } = await create([folder, '--template', 'express'])
    expect(code).toBe(0)
    expect(out).toContain(`cd ${folder}`)
    expect(manifestOf(folder)).toEqual({
      name: 'my-shop',
      version: '0.0.0',
      private: true,
      type: 'module',
      scripts: { start: 'node main.mjs' },
      dependencies: expect.objectContaining({
        '@askback/gateway': expect.stringMatching(/^\^\d/u) as unknown,
      }) as unknown,
    })
    for (const name of ['main.mjs', 'README.md', '.gitignore'])
      expect(existsSync(join(folder, name))).toBe(true)
  })

  it('offers every example', async () => {
    const { out } = await create(['--help'])
    expect(readTemplates().length).toBeGreaterThan(6)
    for (const { name, description } of readTemplates()) {
      expect(out).toContain(`${name} `)
      expect(out).toContain(description)
    }
  })

  it('asks a person for the template, by number or name, until there is one', async () => {
    const names = readTemplates().map(({ name }) => name)
    const folder = join(place, 'app')
    const { code, err } = await create([folder], ['99', String(names.indexOf('python') + 1)])
    expect([code, err]).toEqual([0, 'There is no template "99".\n'])
    expect(existsSync(join(folder, 'ask.py'))).toBe(true)
  })

  it('refuses a folder that is not empty, before it asks anything, and leaves it as it is', async () => {
    writeFileSync(join(place, 'notes.txt'), 'mine')
    const { code, out, err } = await create([place], [])
    expect([code, out]).toEqual([2, ''])
    expect(err).toBe(`The folder ${place} is not empty: name another one, or remove what is in it.\n`)
    expect(existsSync(join(place, 'package.json'))).toBe(false)
  })

  it.each([
    [['a', '--template', 'nothing'], 'There is no template "nothing": choose one of '],
    [['a'], 'Name a template with --template: one of '],
    [['a', 'b'], 'Name one folder.'],
    [['a', '--colour'], "Unknown option '--colour'"],
    [[], 'Name a folder: npm create askback my-app -- --template express'],
  ])('refuses %j with one sentence', async (args, sentence) => {
    const { code, err } = await create(args.map((arg) => (arg === 'a' ? join(place, arg) : arg)))
    expect(code).toBe(2)
    expect(err).toContain(sentence)
    expect(err.trim().split('\n')).toHaveLength(1)
    expect(existsSync(join(place, 'a'))).toBe(false)
  })

  it('says that a file is in the way', async () => {
    const file = join(place, 'app')
    writeFileSync(file, '')
    const { code, err } = await create([file, '--template', 'python'])
    expect([code, err]).toEqual([2, `${file} is a file: name another folder.\n`])
  })
})
