import { agentContract } from '@askback/core/testing'
import { demoAgent, type Script } from './index.js'

const script: Script = {
  turns: [
    {
      on: 'question',
      steps: [
        {
          do: 'ask',
          name: 'go',
          questions: [
            {
              header: 'Go',
              question: 'Go on?',
              options: [{ label: 'Yes' }, { label: 'No' }],
              multiSelect: false,
            },
          ],
        },
        { do: 'say', text: 'You said {{go}}.' },
      ],
    },
    {
      on: 'approval',
      steps: [{ do: 'approve', toolName: 'Bash', input: { command: 'make' }, output: 'made' }],
    },
    { steps: [{ do: 'say', text: 'One two three four five.' }] },
  ],
}

agentContract('the demo agent', () => ({
  adapter: demoAgent({ script, pace: 0 }),
  messages: { plain: 'hello', question: 'question', approval: 'approval' },
}))
