import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readPrivate, writePrivate } from './private-file.js'

/** How commands on this machine reach the gateway that runs on a data folder. */
export interface RunningGateway {
  url: string
  pid: number
  /** A person's, good for as long as that process runs. */
  token: string
  /** For those that only ask. */
  agentToken?: string
}

export function announceGateway(dataFolder: string, gateway: RunningGateway): () => void {
  const path = fileIn(dataFolder)
  writePrivate(path, { ...gateway })
  return () => rmSync(path, { force: true })
}

export function findGateway(dataFolder: string): RunningGateway | null {
  const { url, pid, token, agentToken } = readPrivate(fileIn(dataFolder)) ?? {}
  if (typeof url !== 'string' || typeof pid !== 'number' || typeof token !== 'string') return null
  return { url, pid, token, ...(typeof agentToken === 'string' && { agentToken }) }
}

function fileIn(dataFolder: string): string {
  return join(dataFolder, 'gateway.json')
}
