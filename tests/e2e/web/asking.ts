import type { Interaction } from '@askback/protocol'
import type { RunningGateway } from '../http/gateways.js'

export const database = {
  kind: 'question',
  toolName: 'ask_user',
  toolCallId: 'call-1',
  request: {
    questions: [
      {
        header: 'Database',
        question: 'Which database?',
        options: [{ label: 'SQLite' }, { label: 'Postgres' }],
        multiSelect: false,
      },
    ],
  },
}

export const release = {
  kind: 'form',
  toolCallId: 'call-2',
  request: {
    message: 'The release',
    schema: {
      fields: [
        { name: 'version', type: 'text', label: 'Version', required: true },
        { name: 'notes', type: 'textarea', label: 'Notes' },
      ],
    },
  },
}

export async function ask(gateway: RunningGateway, body: unknown, given?: string): Promise<Interaction> {
  const sessionId = given ?? (await gateway.session())
  const { body: opened } = await gateway.call<{ interaction: Interaction }>(
    'POST',
    `/api/sessions/${sessionId}/interactions`,
    { body, as: gateway.ready.agentToken },
  )
  return opened.interaction
}

export async function readInteraction(
  gateway: RunningGateway,
  { sessionId, interactionId }: Interaction,
): Promise<Interaction> {
  const path = `/api/sessions/${sessionId}/interactions/${interactionId}`
  return (await gateway.call<{ interaction: Interaction }>('GET', path)).body.interaction
}

export const command = {
  kind: 'approval',
  toolName: 'Bash',
  toolCallId: 'call-3',
  request: { input: { command: 'npm run migrate' }, description: 'Runs the migrations.' },
}

export const edit = {
  kind: 'approval',
  toolName: 'Edit',
  toolCallId: 'call-4',
  request: { input: { file_path: 'src/db.ts', old_string: 'let a = 1\n', new_string: 'let a = 2\n' } },
}

export const plan = {
  kind: 'plan_review',
  toolName: 'ExitPlanMode',
  toolCallId: 'call-5',
  request: { plan: '# Plan\n\n1. One\n\n```ts\nexport const a: number = 1\n```\n' },
}
