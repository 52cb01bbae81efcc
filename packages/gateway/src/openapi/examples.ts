import type { SchemaNode } from './schemas.js'

/** Bodies by operation. Tests send each of them. */
export const EXAMPLES: Record<string, SchemaNode | undefined> = {
  createSession: {
    outside: { summary: 'For an agent that runs elsewhere', value: { agent: null, title: 'Release 1.2' } },
    demo: { summary: 'Runs the demo agent', value: { agent: 'demo' } },
  },
  openInteraction: {
    question: {
      summary: 'A question with options',
      value: {
        kind: 'question',
        request: {
          questions: [
            {
              header: 'Database',
              question: 'Where should the service store its rows?',
              options: [{ label: 'PostgreSQL' }, { label: 'SQLite', description: 'One file, no server' }],
              multiSelect: false,
            },
          ],
        },
      },
    },
    approval: {
      summary: 'The approval of a tool call, denied after five minutes',
      value: {
        kind: 'approval',
        toolName: 'Bash',
        request: { input: { command: 'npm publish' }, reason: 'The release is tagged.' },
        timeoutMs: 300_000,
      },
    },
    plan_review: {
      summary: 'A plan to review',
      value: { kind: 'plan_review', request: { plan: '# Migrate\n\n1. Copy the rows\n2. Switch over' } },
    },
    form: {
      summary: 'A form, with an answer that counts at the deadline',
      value: {
        kind: 'form',
        request: {
          message: 'Where does the service listen?',
          schema: { fields: [{ name: 'port', type: 'number', min: 1, max: 65_535, required: true }] },
        },
        timeoutMs: 3_600_000,
        onTimeout: { answer: { values: { port: 8080 } } },
      },
    },
  },
  respond: {
    question: {
      summary: 'Answers a question with an option',
      value: { answer: { answers: [{ selected: ['SQLite'] }] } },
    },
    approval: {
      summary: 'Denies a tool call',
      value: { answer: { decision: 'deny', message: 'Not before noon.' } },
    },
    plan_review: {
      summary: 'Sends a plan back',
      value: { answer: { decision: 'adjust', feedback: 'Back up first.' } },
    },
    form: { summary: 'Fills in a form', value: { answer: { values: { port: 4100 } } } },
  },
  sendMessage: { text: { summary: 'A text to the agent', value: { text: 'Go on with the tests.' } } },
  reportToolCall: {
    bash: {
      summary: 'A command',
      value: { toolCallId: 'call_1', toolName: 'Bash', input: { command: 'ls' } },
    },
  },
}
