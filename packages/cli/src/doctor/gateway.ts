import { AskbackError } from '@askback/protocol/errors'
import { findConnection, type Connection, type Where } from '../reach/connection.js'
import { exchange, type Response } from '../reach/exchange.js'
import { errorOf } from '../reach/gateway.js'
import { findGateway, type RunningGateway } from '../running-gateway.js'
import { broken, fine, isRunning, messageOf, missing, type Check } from './check.js'

const NAME = 'gateway'
const CLOCK = 'clock'
const MAX_CLOCK_OFFSET_S = 1
const PATIENCE_MS = 5000

export interface Found {
  check: Check
  /** The process of the gateway on the data folder, unless it was asked and did not answer. */
  pid: number | null
  /** How its clock agrees with that of a database that gateways share. */
  clock?: Check
}

/** Whether the gateway that commands would call is there, and takes their word. */
export async function gatewayCheck(
  folder: string,
  where: Where,
  { env, version }: { env: NodeJS.ProcessEnv; version: string },
): Promise<Found> {
  let connection: Connection
  let running: RunningGateway | null
  let here: number | null = null
  try {
    running = findGateway(folder)
    // Commands may call another gateway than the one that uses the folder: that one is not at fault then.
    here = running && isRunning(running.pid) ? running.pid : null
    connection = connectionFor(where, env)
  } catch (error) {
    return { check: notFound(error), pid: here }
  }
  const { url } = connection
  const asked = running?.url === url ? running.pid : null
  const pid = asked ?? here
  const ready = await get(connection, '/readyz')
  if (!ready) return { check: silent(url, asked), pid: asked === null ? here : null }
  const who = asked === null ? '' : ` (process ${asked})`
  if (ready.status === 503) return { check: notReady(`${url}${who}`, ready), pid }
  if (ready.status !== 200) return { check: broken(NAME, `${url} is no gateway of Askback`), pid: here }
  const clock = await clockCheck(connection)
  return {
    check: (await refusal(connection, version)) ?? fine(NAME, `${url}${who}`),
    pid,
    ...(clock && { clock }),
  }
}

/** In a person's name, or as the agent whose shell this is. */
function connectionFor(where: Where, env: NodeJS.ProcessEnv): Connection {
  try {
    return findConnection('person', where, env)
  } catch (error) {
    if (error instanceof AskbackError && error.code === 'forbidden')
      return findConnection('agent', where, env)
    throw error
  }
}

function notFound(error: unknown): Check {
  const isMissing = error instanceof AskbackError && error.code === 'unavailable'
  return isMissing && error.message.startsWith('No gateway')
    ? missing(NAME, 'does not run: start it with askback serve')
    : broken(NAME, messageOf(error))
}

function notReady(who: string, response: Response): Check {
  const { message } = errorOf(response)
  return /is (starting|stopping)\.$/.test(message)
    ? missing(NAME, `${who} is starting or stopping`)
    : broken(NAME, `${who} takes no work now: ${message}`)
}

function silent(url: string, pid: number | null): Check {
  if (pid === null) return broken(NAME, `${url} does not answer: is the address right?`)
  return isRunning(pid)
    ? broken(
        NAME,
        `${url} does not answer, though process ${pid} runs: end it, and start askback serve again`,
      )
    : missing(NAME, `${url} ended without a clean stop: start it again with askback serve`)
}

/** A route for people: who has a token for agents is told to stay out, which shows that the token is good. */
async function refusal(connection: Connection, version: string): Promise<Check | null> {
  const answer = await get(connection, '/api/openapi.json')
  if (answer?.status === 401)
    return broken(
      NAME,
      `${connection.url} refuses the token: is ASKBACK_TOKEN or ASKBACK_AGENT_TOKEN of another one?`,
    )
  const [, serves] = /"version":"([^"]+)"/.exec(answer?.text ?? '') ?? []
  return serves !== undefined && serves !== version
    ? missing(NAME, `${connection.url} is of version ${serves}, this command of ${version}: start it again`)
    : null
}

/** Of the gateway's machine, as its metrics tell it. Nothing on a file, or for whoever may not read them. */
async function clockCheck(connection: Connection): Promise<Check | null> {
  const answer = await get(connection, '/api/metrics')
  const [, value] = /^askback_clock_offset_seconds (\S+)$/m.exec(answer?.text ?? '') ?? []
  if (answer?.status !== 200 || value === undefined) return null
  const seconds = Number(value)
  const amount = Math.abs(seconds)
  if (amount <= MAX_CLOCK_OFFSET_S)
    return fine(CLOCK, `differs by ${amount.toFixed(3)} s from the database’s`)
  return missing(
    CLOCK,
    `is ${amount.toFixed(1)} s ${seconds > 0 ? 'ahead of' : 'behind'} the database’s, by which deadlines go: ` +
      'set it right on the gateway’s machine',
  )
}

async function get({ url, token }: Connection, path: string): Promise<Response | null> {
  try {
    const headers = { authorization: `Bearer ${token}` }
    return await exchange({ method: 'GET', url: new URL(path, url), headers, stallMs: PATIENCE_MS })
  } catch {
    return null
  }
}
