import { createInterface, type Interface } from 'node:readline'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import {
  checkIsEmpty,
  CreateError,
  createFrom,
  findTemplate,
  messageOf,
  readTemplates,
  type Template,
} from './templates.js'

const OPTIONS = {
  template: { type: 'string', short: 't' },
  help: { type: 'boolean', short: 'h' },
} satisfies ParseArgsConfig['options']

const EXIT_USAGE = 2
/** Ctrl-C, or the end of the input. */
const EXIT_INTERRUPTED = 130

export interface Terminal {
  /** Asks the person; `null` if nobody can type. */
  readonly ask: ((question: string) => Promise<string>) | null
  readonly print: (text: string) => void
  readonly printError: (text: string) => void
  readonly close?: () => void
}

/** Runs the command, and resolves to its exit code. */
export async function main(args: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  const templates = readTemplates()
  try {
    const { values, positionals } = parse(args)
    if (values.help) {
      terminal.print(helpText(templates))
      return 0
    }
    if (positionals.length > 1) throw new CreateError('Name one folder.')
    const folder = positionals[0] ?? (await askForFolder(terminal))
    checkIsEmpty(folder)
    const template =
      values.template === undefined
        ? await askForTemplate(templates, terminal)
        : findTemplate(templates, values.template)
    createFrom(template, folder)
    terminal.print(`\nCreated ${folder} from the template ${template.name}. Go on with:\n
  cd ${folder}\n  npm install\n\nREADME.md in that folder says how to run it.\n`)
    return 0
  } catch (error) {
    if (!(error instanceof CreateError)) throw error
    terminal.printError(`${error.message}\n`)
    return EXIT_USAGE
  } finally {
    terminal.close?.()
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw new CreateError(messageOf(error), { cause: error })
  }
}

async function askForFolder({ ask }: Terminal): Promise<string> {
  if (!ask) throw new CreateError('Name a folder: npm create askback my-app -- --template express')
  const answer = (await ask('Folder (my-askback-app): ')).trim()
  return answer === '' ? 'my-askback-app' : answer
}

/** By number or by name; asks again if there is no such template. */
async function askForTemplate(templates: readonly Template[], terminal: Terminal): Promise<Template> {
  const { ask, print, printError } = terminal
  const names = templates.map(({ name }) => name).join(', ')
  if (!ask) throw new CreateError(`Name a template with --template: one of ${names}.`)
  print(`\n${listText(templates)}\n`)
  for (;;) {
    const answer = (await ask(`Template (1-${templates.length}): `)).trim()
    const chosen = templates[Number(answer) - 1] ?? templates.find(({ name }) => name === answer)
    if (chosen) return chosen
    printError(`There is no template ${JSON.stringify(answer)}.\n`)
  }
}

function listText(templates: readonly Template[]): string {
  const width = Math.max(...templates.map(({ name }) => name.length))
  return templates
    .map(({ name, description }, index) => `  ${index + 1}  ${name.padEnd(width)}  ${description}\n`)
    .join('')
}

function helpText(templates: readonly Template[]): string {
  return `Usage: npm create askback [FOLDER] [-- --template NAME]\n
Writes a folder with a program, page or server that asks people. Without --template it asks for one:\n
${listText(templates)}`
}

function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process
  const print = (text: string) => void stdout.write(text)
  const printError = (text: string) => void stderr.write(text)
  if (!stdin.isTTY || !stdout.isTTY) return { ask: null, print, printError }
  let opened: Interface | undefined
  let lines: AsyncIterator<string> | undefined
  return {
    print,
    printError,
    // One reader for all questions, because it also has what was typed ahead.
    async ask(question) {
      opened ??= createInterface({ input: stdin, output: stdout })
      lines ??= opened[Symbol.asyncIterator]()
      opened.setPrompt(question)
      opened.prompt()
      const line = await lines.next()
      return line.done ? process.exit(EXIT_INTERRUPTED) : line.value
    },
    close: () => opened?.close(),
  }
}
