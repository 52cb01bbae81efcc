import { AskbackError } from '@askback/protocol'
import { announceGateway, findGateway } from '../running-gateway.js'
import { compose, type Composed } from './compose.js'
import { hasBrowser, openBrowser } from '../open-browser.js'
import { serveOptions, type ServeOptions } from './options.js'
import type { SharedStore, StoreAddress } from './shared-store.js'
import { serveTokens, takeTokensOutOf, type Tokens } from './tokens.js'
import { Trouble } from './trouble.js'
import { printJson, say } from '../output.js'

/** What agents must not inherit: a person's token, or the way to the data. */
const SECRETS = [
  'ASKBACK_TOKEN',
  'ASKBACK_AGENT_TOKEN',
  'ASKBACK_STORE',
  'ASKBACK_STORE_LISTEN',
  'ASKBACK_TELEGRAM_TOKEN',
  'ASKBACK_WEBHOOK_SECRET',
]

/** Runs until it is told to stop. */
export async function serve(args: string[]): Promise<undefined> {
  const options = serveOptions(args)
  const trouble = new Trouble()
  const shared = options.store && (await openShared(options.store, trouble))
  const tokens = await tokensFor(options, shared).catch(async (error: unknown) => {
    await shared?.store.close()
    throw error
  })
  const sharesTokens = !(process.env['ASKBACK_TOKEN'] && process.env['ASKBACK_AGENT_TOKEN'])
  for (const name of SECRETS) delete process.env[name]
  const composed = await compose(options, tokens, { shared, trouble, sharesTokens }).catch(
    (error: unknown) => {
      throw listenProblem(error, options) ?? alreadyRuns(error, options) ?? error
    },
  )
  try {
    await run(composed, options, tokens)
  } catch (error) {
    // It is told why the start failed, not what else fails for the same reason.
    await composed.gateway.close().catch(() => undefined)
    throw error
  }
}

async function tokensFor(options: ServeOptions, shared: SharedStore | null): Promise<Tokens> {
  if (shared) await takeTokensOutOf(shared.store, options.dataFolder)
  return serveTokens(options, process.env)
}

/** Loaded where it is used: most gateways keep their data in a file. */
async function openShared(address: StoreAddress, trouble: Trouble): Promise<SharedStore> {
  const { openSharedStore } = await import('./shared-store.js')
  return openSharedStore(address, trouble.report)
}

async function run(composed: Composed, options: ServeOptions, tokens: Tokens): Promise<void> {
  const { gateway, url, localToken, ready } = composed
  const retract = announceGateway(options.dataFolder, {
    url,
    pid: process.pid,
    token: localToken,
    agentToken: tokens.agentToken,
  })
  stopOnSignals(composed, options, retract)
  process.on('unhandledRejection', (error) => gateway.app.log.error({ err: error }, 'Nobody took this error'))
  // Whoever started us may stop reading.
  process.stdout.on('error', () => undefined)
  try {
    await ready
    sayReady(composed, options, tokens)
  } catch (error) {
    retract()
    throw error
  }
}

function sayReady(
  { url, openUrl, isLinkUsed }: Composed,
  { json, open, dataFolder }: ServeOptions,
  tokens: Tokens,
): void {
  if (json) {
    printJson({ url, openUrl, ...tokens, pid: process.pid })
    return
  }
  const opens = open && hasBrowser(process.env)
  process.stdout.write(`Askback is ready: ${opens ? url : openUrl}\n`)
  // Not on stdout, where whoever started us reads one line.
  process.stderr.write(`To sign in again, or in another browser: ${commandName()} open\n`)
  if (opens) void showInBrowser(openUrl, dataFolder, isLinkUsed)
}

/** In a clone, and wherever npm started us, only npm finds the command. */
function commandName(): string {
  return process.env['npm_execpath'] ? 'npx askback' : 'askback'
}

async function showInBrowser(openUrl: string, dataFolder: string, isLinkUsed: () => boolean): Promise<void> {
  const isUsed = await openBrowser(openUrl, dataFolder, async () => isLinkUsed())
  if (!isUsed)
    process.stderr.write('No browser has signed in yet. Run askback open, or askback open --print.\n')
}

/** The first signal drains, the second ends at once. */
function stopOnSignals({ gateway }: Composed, { json }: ServeOptions, retract: () => void): void {
  let stopping = false
  const stop = () => {
    if (stopping) process.exit(130)
    stopping = true
    if (!json) process.stderr.write('Stopping; what waits stays pending. Once more to stop at once.\n')
    gateway.close().then(
      () => {
        retract()
        process.exit(0)
      },
      (error: unknown) => {
        say(error instanceof Error ? error.message : String(error))
        process.exit(1)
      },
    )
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
}

/** Whoever starts a second one most likely wants to see the first. */
function alreadyRuns(error: unknown, { dataFolder }: ServeOptions): AskbackError | null {
  if (!(error instanceof AskbackError) || !error.message.includes(' is in use by process ')) return null
  const running = findGateway(dataFolder)
  return running && error.message.includes(` process ${running.pid} `)
    ? new AskbackError(
        'unavailable',
        `A gateway runs here already, at ${running.url} (process ${running.pid}). Open it with askback open, or start another with --data DIR.`,
      )
    : null
}

function listenProblem(error: unknown, { host, port }: ServeOptions): AskbackError | null {
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
