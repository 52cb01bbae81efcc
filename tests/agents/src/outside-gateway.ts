import type { Interaction } from '@askback/protocol'
import { expect } from 'vitest'
import { Command } from '../../e2e/http/command.js'
import { at, RunningGateway } from '../../e2e/http/gateways.js'

/** Starts `askback serve`, for agents that are started outside of it. */
export async function startGateway(data: string): Promise<RunningGateway> {
  const command = new Command(['serve', '--port', '0', '--data', data, '--json'])
  return new RunningGateway(command, data, await command.ready())
}

/** Waits for a pending request, and returns the oldest. */
export async function pendingAt(gateway: RunningGateway): Promise<Interaction> {
  const find = async () => {
    const { body } = await gateway.call<{ interactions: Interaction[] }>('GET', '/api/interactions')
    return body.interactions[0]
  }
  await expect.poll(find).toBeDefined()
  return (await find())!
}

export async function answerAt(gateway: RunningGateway, item: Interaction, given: object): Promise<void> {
  const { status } = await gateway.call('POST', `${at(item)}/response`, { body: { answer: given } })
  expect(status).toBe(200)
}
