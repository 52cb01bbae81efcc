import { demoAgent } from '@askback/agents/demo'
import { startTestGateway } from '@askback/gateway/testing'
import { sqliteStore } from '@askback/store-sqlite'

/*
 * A gateway with a database, for a test that kills it. It replies with its address.
 */

const { ASKBACK_TEST_FILE: path = '' } = process.env

const script = {
  turns: [
    {
      steps: [
        { do: 'say' as const, text: 'I will deploy it.' },
        {
          do: 'approve' as const,
          name: 'a',
          toolName: 'deploy',
          input: { version: 'a' },
          output: 'deployed a',
        },
        { do: 'say' as const, text: 'It was {{a}}.' },
      ],
    },
  ],
}

process.on('message', ({ id, call: { port } }: { id: number; call: { port: number } }) => {
  const agents = [demoAgent({ script, paceMs: 5 })]
  void startTestGateway({ store: sqliteStore({ path }), agents, listen: { port } }).then(({ url, token }) =>
    process.send?.({ id, reply: { url, token } }),
  )
})
