import { AskbackError, errorMessage } from '@askback/protocol/errors'
import { findGateway, isProcessRunning, type RunningGateway } from '../data-folder.js'
import { findConnection, type GatewayAddress, type GatewayConnection } from '../reach/connection.js'
import { errorFrom, sendRequest, type HttpResponse } from '../reach/http.js'
import { broken, fine, missing, type DoctorCheck } from './check.js'

const GATEWAY = 'gateway'
const CLOCK = 'clock'
const MAX_CLOCK_OFFSET_S = 1
const RESPONSE_TIMEOUT_MS = 5000

export interface GatewayFindings {
  check: DoctorCheck
  /** The process of the gateway on the data folder; `null` if there is none, or if it was called and did not answer. */
  pid: number | null
  /** Whether the clocks of gateway and database agree. Only for a database that gateways share. */
  clock?: DoctorCheck
}

/** Whether the gateway that commands would call answers and accepts their token. */
export async function gatewayCheck(
  folder: string,
  address: GatewayAddress,
  { env, version }: { env: NodeJS.ProcessEnv; version: string },
): Promise<GatewayFindings> {
  let connection: GatewayConnection
  let running: RunningGateway | null
  let localPid: number | null = null
  try {
    running = findGateway(folder)
    // Commands may call another gateway than the one on the folder. If that one fails, the local one is still fine.
    localPid = running && isProcessRunning(running.pid) ? running.pid : null
    connection = connectionFor(address, env)
  } catch (error) {
    return { check: notFoundCheck(error), pid: localPid }
  }
  const { url } = connection
  const calledPid = running?.url === url ? running.pid : null
  const pid = calledPid ?? localPid
  const ready = await get(connection, '/readyz')
  if (!ready) return { check: silentCheck(url, calledPid), pid: calledPid === null ? localPid : null }
  const name = calledPid === null ? url : `${url} (process ${calledPid})`
  if (ready.status === 503) return { check: notReadyCheck(name, ready), pid }
  if (ready.status !== 200)
    return { check: broken(GATEWAY, `${url} is no gateway of Askback`), pid: localPid }
  const clock = await clockCheck(connection)
  return {
    check: (await tokenOrVersionProblem(connection, version)) ?? fine(GATEWAY, name),
    pid,
    ...(clock && { clock }),
  }
}

/** As a person, or as an agent if this is the shell of an agent. */
function connectionFor(address: GatewayAddress, env: NodeJS.ProcessEnv): GatewayConnection {
  try {
    return findConnection('person', address, env)
  } catch (error) {
    if (error instanceof AskbackError && error.code === 'forbidden')
      return findConnection('agent', address, env)
    throw error
  }
}

function notFoundCheck(error: unknown): DoctorCheck {
  const isMissing = error instanceof AskbackError && error.code === 'unavailable'
  return isMissing && error.message.startsWith('No gateway')
    ? missing(GATEWAY, 'does not run: start it with askback serve')
    : broken(GATEWAY, errorMessage(error))
}

function notReadyCheck(name: string, response: HttpResponse): DoctorCheck {
  const { message } = errorFrom(response)
  return /is (starting|stopping)\.$/.test(message)
    ? missing(GATEWAY, `${name} is starting or stopping`)
    : broken(GATEWAY, `${name} takes no work now: ${message}`)
}

function silentCheck(url: string, pid: number | null): DoctorCheck {
  if (pid === null) return broken(GATEWAY, `${url} does not answer: is the address right?`)
  return isProcessRunning(pid)
    ? broken(
        GATEWAY,
        `${url} does not answer, though process ${pid} runs: end it, and start askback serve again`,
      )
    : missing(GATEWAY, `${url} ended without a clean stop: start it again with askback serve`)
}

/** Calls a route for people. A valid token of agents is refused there as well, but with another status than an invalid one. */
async function tokenOrVersionProblem(
  connection: GatewayConnection,
  version: string,
): Promise<DoctorCheck | null> {
  const response = await get(connection, '/api/openapi.json')
  if (response?.status === 401)
    return broken(
      GATEWAY,
      `${connection.url} refuses the token: is ASKBACK_TOKEN or ASKBACK_AGENT_TOKEN of another one?`,
    )
  const [, gatewayVersion] = /"version":"([^"]+)"/.exec(response?.text ?? '') ?? []
  return gatewayVersion !== undefined && gatewayVersion !== version
    ? missing(
        GATEWAY,
        `${connection.url} is of version ${gatewayVersion}, this command of ${version}: start it again`,
      )
    : null
}

/** Reads the clock offset from the metrics. `null` without a shared database, or without access to the metrics. */
async function clockCheck(connection: GatewayConnection): Promise<DoctorCheck | null> {
  const response = await get(connection, '/api/metrics')
  const [, value] = /^askback_clock_offset_seconds (\S+)$/m.exec(response?.text ?? '') ?? []
  if (response?.status !== 200 || value === undefined) return null
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

async function get({ url, token }: GatewayConnection, path: string): Promise<HttpResponse | null> {
  try {
    const headers = { authorization: `Bearer ${token}` }
    return await sendRequest({
      method: 'GET',
      url: new URL(path, url),
      headers,
      stallMs: RESPONSE_TIMEOUT_MS,
    })
  } catch {
    return null
  }
}
