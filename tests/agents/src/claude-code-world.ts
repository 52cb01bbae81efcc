import type { Interaction } from '@askback/protocol'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { newFolder } from '../../e2e/http/command.js'
import type { RunningGateway } from '../../e2e/http/gateways.js'
import { startClaudeEndpoint, type ClaudeEndpoint } from './claude-endpoint.js'
import { folderOf } from './folders.js'
import { answerAt, pendingAt, startGateway } from './outside-gateway.js'

/** What tests of a manually started Claude Code need: a model and a gateway, and a home and a folder for each test. */
export let endpoint: ClaudeEndpoint
export let gateway: RunningGateway
export let home: string
export let cwd: string
beforeAll(async () => {
  endpoint = await startClaudeEndpoint()
  gateway = await startGateway(newFolder())
})
beforeEach(async () => {
  home = await folderOf('home')
  cwd = await folderOf('work')
})
afterEach(() => expect(endpoint.problems).toEqual([]))
afterAll(async () => {
  await gateway.stop('SIGKILL')
  await endpoint.close()
})

export const pending = () => pendingAt(gateway)
export const answer = (item: Interaction, given: object) => answerAt(gateway, item, given)
