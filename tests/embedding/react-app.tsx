import { DirectTransport } from '@askback/client'
import { createDesk, createHost, memoryStore } from '@askback/core'
import { AskbackProvider, Inbox } from '@askback/react'
import '@askback/react/styles.css'
import { StrictMode, version } from 'react'
import { createRoot } from 'react-dom/client'

// What the test of React 18 and 19 builds: an inbox on a desk in the same page, with a request that must be seen before it is approved.
const desk = createDesk({ store: memoryStore() })
const host = createHost({ desk, onError: reportError })
const transport = new DirectTransport(host, { actor: { id: 'ada', name: 'Ada' } })

document.title = `React ${version}`
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <AskbackProvider transport={transport} personId="ada">
      <Inbox />
    </AskbackProvider>
  </StrictMode>,
)

const session = desk.session('deploy')
const command = Array.from({ length: 400 }, (_, line) => `echo line ${line}`).join('\n')
const approved = await session.approve({ toolName: 'Bash', input: { command } })
const answered = await session.ask({
  questions: [
    {
      header: 'Database',
      question: 'Which database?',
      options: [{ label: 'PostgreSQL' }, { label: 'SQLite' }],
      multiSelect: false,
    },
  ],
})
document.title = `${approved.settlement}, then ${JSON.stringify(answered)}`
