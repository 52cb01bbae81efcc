import { AskbackError, errorMessage } from '@askback/protocol/errors'
import { isRecord } from '@askback/protocol/guards'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { dirname, isAbsolute, join, resolve } from 'node:path'

/** The folder for a user's data on this system. */
export function defaultDataFolder(env: NodeJS.ProcessEnv = process.env, platform = process.platform): string {
  const home = homeFolder()
  switch (platform) {
    case 'darwin':
      return join(home, 'Library', 'Application Support', 'askback')
    case 'win32':
      return join(absolute(env['LOCALAPPDATA']) ?? join(home, 'AppData', 'Local'), 'askback')
    default:
      return join(absolute(env['XDG_DATA_HOME']) ?? join(home, '.local', 'share'), 'askback')
  }
}

/** With an empty `HOME`, `homedir()` is empty, too: tokens would be written to the folder that the command was started in. */
export function homeFolder(home = homedir()): string {
  return absolute(home) ?? userInfo().homedir
}

/** A relative path depends on where the command was started, so it is ignored, as the XDG specification says. */
function absolute(path: string | undefined): string | undefined {
  return path !== undefined && isAbsolute(path) ? path : undefined
}

/** Creates the folder if it is missing, and makes it accessible to its owner only. */
export function openDataFolder(path: string | undefined): string {
  const folder = resolve(path ?? defaultDataFolder())
  try {
    createFolder(folder)
    if (!statSync(folder).isDirectory()) throw new Error('it is a file')
    chmodSync(folder, 0o700)
    accessSync(folder, constants.W_OK | constants.X_OK)
    return folder
  } catch (error) {
    throw new AskbackError('unavailable', `The data folder ${folder} cannot be used: ${reasonOf(error)}.`, {
      cause: error,
    })
  }
}

/** The file with the tokens that a gateway made at its first start. */
export function tokensFile(dataFolder: string): string {
  return join(dataFolder, 'tokens.json')
}

/** Reads a JSON object from a file that only its owner can read. `null` if there is no file. */
export function readPrivateFile(path: string): Record<string, unknown> | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new AskbackError('unavailable', `The file ${path} cannot be read.`, { cause: error })
  }
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch {
    // Falls through to the error below.
  }
  throw new AskbackError('unavailable', `The file ${path} is damaged: it is not a JSON object.`)
}

/** Replaces the file atomically: after a crash it holds the old value or the new one. */
export function writePrivateFile(path: string, value: Record<string, unknown>): void {
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw new AskbackError('unavailable', `The file ${path} cannot be written.`, { cause: error })
  }
}

/** What the gateway on a data folder announces there, so that commands on this machine find it. */
export interface RunningGateway {
  url: string
  pid: number
  /** A person's token. It is valid while that process runs. */
  token: string
  /** A token for agents, which can open requests and not answer them. */
  agentToken?: string
}

/** Returns a function that removes the announcement. */
export function announceGateway(dataFolder: string, gateway: RunningGateway): () => void {
  const path = gatewayFile(dataFolder)
  writePrivateFile(path, { ...gateway })
  return () => rmSync(path, { force: true })
}

/** The announced gateway, whether its process still runs or not; `null` if there is none. */
export function findGateway(dataFolder: string): RunningGateway | null {
  const { url, pid, token, agentToken } = readPrivateFile(gatewayFile(dataFolder)) ?? {}
  if (typeof url !== 'string' || typeof pid !== 'number' || typeof token !== 'string') return null
  return { url, pid, token, ...(typeof agentToken === 'string' && { agentToken }) }
}

function gatewayFile(dataFolder: string): string {
  return join(dataFolder, 'gateway.json')
}

/**
 * Whether a process with this id runs on this machine. It may be another user's. A zombie, which has ended but was not reaped by its
 * parent, does not run.
 */
export function isProcessRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !isZombie(pid)
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function isZombie(pid: number): boolean {
  try {
    // The state comes after the name, which is in parentheses and may contain anything.
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    // Only Linux has this file.
    return false
  }
}

/** Whether a process runs that has announced itself as the gateway on this folder. */
export function hasRunningGateway(folder: string): boolean {
  const running = findGateway(folder)
  return running !== null && isProcessRunning(running.pid)
}

/** Level by level, because the recursive form of `mkdir` never returns on some file systems that refuse it. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return
  if (dirname(folder) !== folder) createFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'this user may not write there'
    case 'EROFS':
      return 'its file system is read-only'
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a file is in the way'
    case 'ENOSPC':
      return 'the disk is full'
    case 'ENOENT':
      return 'it cannot be made there'
    default:
      return errorMessage(error)
  }
}
