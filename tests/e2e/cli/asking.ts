import type { Interaction } from '@askback/protocol'
import { afterAll, beforeAll, expect } from 'vitest'
import { Command, newFolder } from '../http/command.js'
import { at, run, RunningGateway } from '../http/gateways.js'

/** One gateway for all tests of a file that do not stop it. */
export function sharedGateway(): () => RunningGateway {
  let shared: RunningGateway | undefined
  beforeAll(async () => {
    const data = newFolder()
    const command = new Command(['serve', '--port', '0', '--data', data, '--json'])
    shared = new RunningGateway(command, data, await command.ready())
  })
  afterAll(() => shared?.stop('SIGKILL'))
  return () => shared!
}

/** The command as it would run inside the shell of an agent of this session. */
export function inShell(
  { ready }: RunningGateway,
  sessionId: string,
  env: Record<string, string> = {},
): Record<string, string> {
  return {
    ASKBACK_URL: ready.url,
    ASKBACK_SESSION: sessionId,
    ASKBACK_AGENT_TOKEN: ready.agentToken,
    ...env,
  }
}

/** The id of the interaction that a command prints while it waits. */
export async function waitsFor(command: Command): Promise<string> {
  const said = () => /askback wait (\S+).*\n/.exec(command.stderr)?.[1] ?? ''
  await expect.poll(said).not.toBe('')
  return said()
}

export async function interactionOf(gateway: RunningGateway, id: string): Promise<Interaction> {
  const { body } = await gateway.call<{ interaction: Interaction }>('GET', `/api/interactions/${id}`)
  return body.interaction
}

/** Answers the interaction that a command waits for, and returns the exit of the command. */
export async function answered(
  gateway: RunningGateway,
  command: Command,
  answer: unknown,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const item = await interactionOf(gateway, await waitsFor(command))
  const { status } = await gateway.call('POST', `${at(item)}/response`, { body: { answer } })
  expect(status).toBe(200)
  return end(command)
}

export async function end(
  command: Command,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { code } = await command.ended
  return { code, stdout: command.stdout, stderr: command.stderr }
}

/** A request that is answered without a person. */
export function outcome(args: string[], env?: Record<string, string>, stdin?: string) {
  return end(run(args, env, stdin === undefined ? {} : { stdin }))
}

export const databases = ['--option', 'Postgres', '--option', 'SQLite']
export const picks = (...selected: string[]) => ({ answers: [{ selected }] })
