import { AskbackError, errorMessage } from '@askback/protocol'
import { announceGateway, findGateway } from '../data-folder.js'
import { hasBrowser, openBrowser } from '../open.js'
import { printJson, say } from '../terminal.js'
import { compose, openSharedStore, type ComposedGateway, type SharedStore } from './compose.js'
import { BackgroundErrors } from './background-errors.js'
import { readServeOptions, type ServeOptions } from './options.js'
import { moveTokensOutOf, serveTokens, type Tokens } from './tokens.js'

/** Variables that agents must not inherit, because they contain tokens or give access to the data. */
const SECRET_VARIABLES = [
  'ASKBACK_TOKEN',
  'ASKBACK_AGENT_TOKEN',
  'ASKBACK_STORE',
  'ASKBACK_STORE_LISTEN',
  'ASKBACK_TELEGRAM_TOKEN',
  'ASKBACK_WEBHOOK_SECRET',
]

/** `askback serve`: starts a gateway, which then runs until a signal stops it. */
export async function serve(args: string[]): Promise<undefined> {
  const options = await readServeOptions(args)
  const errors = new BackgroundErrors()
  const shared = options.store && (await openSharedStore(options.store, errors.report))
  const tokens = await tokensFor(options, shared).catch(async (error: unknown) => {
    await shared?.store.close()
    throw error
  })
  const sharesTokens = !(process.env['ASKBACK_TOKEN'] && process.env['ASKBACK_AGENT_TOKEN'])
  for (const name of SECRET_VARIABLES) delete process.env[name]
  const composed = await compose(options, tokens, { shared, errors, sharesTokens }).catch(
    (error: unknown) => {
      throw listenError(error, options) ?? alreadyRunningError(error, options) ?? error
    },
  )
  try {
    await run(composed, options, tokens)
  } catch (error) {
    // Only the reason of the failed start is printed, and not what fails because of it.
    await composed.gateway.close().catch(() => undefined)
    throw error
  }
}

async function tokensFor(options: ServeOptions, shared: SharedStore | null): Promise<Tokens> {
  if (shared) await moveTokensOutOf(shared.store, options.dataFolder)
  return serveTokens(options, process.env)
}

async function run(composed: ComposedGateway, options: ServeOptions, tokens: Tokens): Promise<void> {
  const { gateway, url, localToken, ready } = composed
  const removeAnnouncement = announceGateway(options.dataFolder, {
    url,
    pid: process.pid,
    token: localToken,
    agentToken: tokens.agentToken,
  })
  stopOnSignals(composed, options, removeAnnouncement)
  process.on('unhandledRejection', (error) => gateway.app.log.error({ err: error }, 'Nobody took this error'))
  // The program that started this one may stop reading its output.
  process.stdout.on('error', () => undefined)
  try {
    await ready
    sayReady(composed, options, tokens)
  } catch (error) {
    removeAnnouncement()
    throw error
  }
}

function sayReady(
  { url, openUrl, isLinkUsed }: ComposedGateway,
  { json, open, dataFolder, unusedConfig }: ServeOptions,
  tokens: Tokens,
): void {
  if (unusedConfig !== null)
    process.stderr.write(
      `${unusedConfig} in this folder is not used. To use it: ${commandName()} serve --config ${unusedConfig}\n`,
    )
  if (json) {
    printJson({ url, openUrl, ...tokens, pid: process.pid })
    return
  }
  const opensBrowser = open && hasBrowser(process.env)
  process.stdout.write(`Askback is ready: ${opensBrowser ? url : openUrl}\n`)
  // On stderr, since a program that started this one reads exactly one line from stdout.
  process.stderr.write(`To sign in again, or in another browser: ${commandName()} open\n`)
  if (opensBrowser) void showInBrowser(openUrl, dataFolder, isLinkUsed)
}

/** How to run this command again. If npm started it, it is not on the PATH. */
function commandName(): string {
  return process.env['npm_execpath'] ? 'npx askback' : 'askback'
}

async function showInBrowser(openUrl: string, dataFolder: string, isLinkUsed: () => boolean): Promise<void> {
  const isUsed = await openBrowser(openUrl, dataFolder, async () => isLinkUsed())
  if (!isUsed)
    process.stderr.write('No browser has signed in yet. Run askback open, or askback open --print.\n')
}

/** The first signal drains the gateway, a second one ends the process at once. */
function stopOnSignals(
  { gateway }: ComposedGateway,
  { json }: ServeOptions,
  removeAnnouncement: () => void,
): void {
  let isStopping = false
  const stop = () => {
    if (isStopping) process.exit(130)
    isStopping = true
    if (!json) process.stderr.write('Stopping; what waits stays pending. Once more to stop at once.\n')
    gateway.close().then(
      () => {
        removeAnnouncement()
        process.exit(0)
      },
      (error: unknown) => {
        say(errorMessage(error))
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
}

/** Names the gateway that uses the folder, since a person who starts a second one most likely wants to open the first. */
function alreadyRunningError(error: unknown, { dataFolder }: ServeOptions): AskbackError | null {
  if (!(error instanceof AskbackError) || !error.message.includes(' is in use by process ')) return null
  const running = findGateway(dataFolder)
  return running && error.message.includes(` process ${running.pid} `)
    ? new AskbackError(
        'unavailable',
        `A gateway runs here already, at ${running.url} (process ${running.pid}). Open it with askback open, or start another with --data DIR.`,
      )
    : null
}

function listenError(error: unknown, { host, port }: ServeOptions): AskbackError | null {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return new AskbackError('unavailable', `Port ${port} on ${host} is taken. Choose another with --port.`)
    case 'EACCES':
      return new AskbackError(
        'unavailable',
        `This user may not listen on port ${port}. Choose another with --port.`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new AskbackError('unavailable', `${host} is not an address of this machine.`)
    default:
      return null
  }
}
