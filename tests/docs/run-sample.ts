import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { format } from 'node:util'
import { transformWithOxc } from 'vite'

/** Not from a URL: in a test with a DOM, `URL` is that of the DOM, and `node:url` does not take it. */
const root = join(import.meta.dirname, '../..')

export interface SampleRun {
  /** What the sample printed, as `console.log` of Node prints it. */
  printed: string[]
  /** What the comments behind its `console.log(…)` say that it prints. */
  expected: string[]
}

type SampleFunction = (...values: unknown[]) => Promise<void>

interface SampleOptions {
  /** Chooses the first sample with this text. @default a call of `console.log` */
  containing?: string
  /** Exchanges texts in the sample that only fit on the reader's machine, such as the path of a file. */
  replacements?: Record<string, string>
}

/** Runs a TypeScript sample of a document. Its imports resolve as those of this file do. */
export async function runSample(
  document: string,
  { containing, replacements = {} }: SampleOptions = {},
): Promise<SampleRun> {
  const { language, sample, expected } = readSample(document, containing)
  const printed: string[] = []
  const console = { log: (...values: unknown[]) => printed.push(format(...values)), error: fail }
  const { body, specifiers } = await withoutImports(replaceAll(sample, replacements), language)
  const modules: Record<string, unknown> = {}
  for (const specifier of specifiers) modules[specifier] = await import(/* @vite-ignore */ specifier)
  // oxlint-disable-next-line typescript/no-implied-eval -- the sample is our own
  const run = new Function('modules', 'console', `return (async () => { ${body} })()`) as SampleFunction
  await run(modules, console)
  return { printed, expected }
}

/** The first sample of a document with this text, and what the comments behind its `console.log(…)` say that it prints. */
export function readSample(
  document: string,
  containing = 'console.log(',
): { language: string; sample: string; expected: string[] } {
  const text = readFileSync(join(root, document), 'utf8')
  const samples = [...text.matchAll(/```(tsx?)\n(.*?)```/gsu)]
  const [, language = 'ts', sample = ''] = samples.find(([, , code]) => code?.includes(containing)) ?? []
  const expected = [...sample.matchAll(/console\.log\(.*\) \/\/ (.*)\n/gu)].map(([, comment = '']) => comment)
  return { language, sample, expected }
}

/** The sample as the body of a function that finds its imports in `modules`. */
async function withoutImports(
  sample: string,
  language: string,
): Promise<{ body: string; specifiers: string[] }> {
  const { code } = await transformWithOxc(sample, `sample.${language}`, {
    jsx: { runtime: 'automatic', development: false },
  })
  const specifiers: string[] = []
  const body = code.replace(
    /^import (?:(?<names>\{.*?\}) from )?["'](?<specifier>.*?)["'];?$/gmu,
    (_, names: string | undefined, specifier: string) => {
      specifiers.push(specifier)
      return names ? `const ${names.replaceAll(' as ', ': ')} = modules["${specifier}"];` : ''
    },
  )
  if (/^import /mu.test(body)) throw new Error(`The sample has an import of an unknown form:\n${body}`)
  return { body, specifiers }
}

function replaceAll(text: string, replacements: Record<string, string>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`The sample does not contain ${from}.`)
    return result.replaceAll(from, to)
  }, text)
}

function fail(error: unknown): never {
  throw error
}
