import { connect, NotAnswered } from '@askback/client'
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/*
 * A program that deploys with an approval. The test kills it at any time, and starts it again: what ran is in a file, a line for each
 * run.
 */

export type DeployRequest = { version: string }
export type DeployReply = { result: string } | { reason: string }

const {
  ASKBACK_TEST_URL: url = '',
  ASKBACK_TEST_TOKEN: token = '',
  ASKBACK_TEST_FILE: file = '',
} = process.env
const session = connect({ url, token }).session('deploys')

async function run(version: string): Promise<string> {
  appendFileSync(file, `${version}\n`)
  await pause(version.startsWith('slow') ? 60_000 : 5)
  return `deployed ${version}`
}

const deploy = session.withApproval('deploy', run, { key: (version) => `deploy-${version}`, timeout: '2d' })

process.on('message', ({ id, call }: { id: number; call: DeployRequest }) => {
  deploy(call.version).then(
    (result) => process.send?.({ id, reply: { result } }),
    (error: unknown) => {
      if (!(error instanceof NotAnswered)) throw error
      process.send?.({ id, reply: { reason: error.reason } })
    },
  )
})
