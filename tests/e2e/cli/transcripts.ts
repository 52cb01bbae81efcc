import type { SessionEvent } from '@askback/protocol'
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { newFolder } from '../http/command.js'
import type { RunningGateway } from '../http/gateways.js'

export type Agent = 'claude' | 'codex'

export interface Transcript {
  file: string
  id: string
}

const COMMAND = 'db=$(askback ask "Which database?")'
let made = 0

/** The transcript that Claude Code or Codex writes of a session in which a script has asked, in its own home folder. */
export function transcript(
  agent: Agent,
  {
    cwd,
    callId,
    home = newFolder(),
    more = [],
  }: { cwd: string; callId: string; home?: string; more?: string[] },
): Transcript {
  const { file, id } = place(agent, home)
  const lines = agent === 'claude' ? claudeLines(id, cwd, callId) : codexLines(id, cwd, callId)
  writeFileSync(file, [...lines.map((line) => JSON.stringify(line)), ...more].join('\n'))
  return { file, id }
}

/** A transcript of about so many megabytes in one turn, as of an agent that ran unattended for a day. */
export async function longTranscript(
  megabytes: number,
  cwd: string,
): Promise<Transcript & { calls: number }> {
  const { file, id } = place('claude', newFolder())
  const out = createWriteStream(file)
  const line = claudeLine(id, cwd)
  out.write(`${JSON.stringify(line('user', 'Do it all', 'u'))}\n`)
  const output = 'A line of what a program said.\n'.repeat(150)
  const calls = Math.ceil((megabytes * 1024 * 1024) / (2 * output.length + 1000))
  for (let index = 0; index < calls; index += 1) {
    const toolCallId = `toolu_${index}`
    const use = [{ type: 'tool_use', id: toolCallId, name: 'Bash', input: { command: `step ${index}` } }]
    const result = [{ type: 'tool_result', tool_use_id: toolCallId, content: output }]
    out.write(`${JSON.stringify(line('assistant', use, `a${index}`))}\n`)
    // Claude Code stores it twice.
    const kept = { ...line('user', result, `r${index}`), toolUseResult: { stdout: output } }
    if (!out.write(`${JSON.stringify(kept)}\n`)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  return { file, id, calls }
}

/** The whole log of a session. */
export async function logOf({ ready }: RunningGateway, sessionId: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = []
  for (let next: number | null = 0; next !== null;) {
    const response = await fetch(`${ready.url}/api/sessions/${sessionId}/events?limit=1000&after=${next}`, {
      headers: { authorization: `Bearer ${ready.token}`, accept: 'application/json' },
    })
    const page = (await response.json()) as { events: SessionEvent[]; next: number | null }
    events.push(...page.events)
    next = page.next
  }
  return events
}

function place(agent: Agent, home: string): Transcript {
  made += 1
  const id = `0199aaaa-0000-7000-8000-${String(made).padStart(12, '0')}`
  const file =
    agent === 'claude'
      ? join(home, '.claude/projects/-work-shop', `${id}.jsonl`)
      : join(home, '.codex/sessions/2026/11/01', `rollout-2026-11-01T10-00-00-${id}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  return { file, id }
}

function claudeLine(sessionId: string, cwd: string) {
  return (type: string, content: unknown, uuid: string) => ({
    parentUuid: null,
    isSidechain: false,
    userType: 'external',
    cwd,
    sessionId,
    version: '2.1.0',
    type,
    message: { role: type, content },
    uuid,
    timestamp: new Date().toISOString(),
  })
}

function claudeLines(id: string, cwd: string, callId: string): object[] {
  const line = claudeLine(id, cwd)
  return [
    { type: 'file-history-snapshot', messageId: 'm', snapshot: {} },
    line('user', 'Set up the database', 'u1'),
    line('assistant', [{ type: 'tool_use', id: callId, name: 'Bash', input: { command: COMMAND } }], 'a1'),
    line('user', [{ type: 'tool_result', tool_use_id: callId, content: 'ok' }], 'u2'),
    { type: 'brand-new-line', sessionId: id },
    line('assistant', [{ type: 'brand_new_block' }, { type: 'text', text: 'It is set up.' }], 'a2'),
  ]
}

function codexLines(id: string, cwd: string, callId: string): object[] {
  const line = (type: string, payload: object) => ({ timestamp: new Date().toISOString(), type, payload })
  const item = (payload: object) => line('response_item', payload)
  return [
    line('session_meta', { id, cwd, originator: 'codex_exec', cli_version: '0.166.0' }),
    line('turn_context', { cwd, approval_policy: 'never' }),
    line('event_msg', { type: 'user_message', message: 'Set up the database' }),
    item({ type: 'brand_new_item', id: 'x' }),
    item({
      type: 'function_call',
      call_id: callId,
      name: 'exec_command',
      arguments: JSON.stringify({ cmd: COMMAND }),
    }),
    item({ type: 'function_call_output', call_id: callId, output: 'ok' }),
    item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is set up.' }] }),
  ]
}
