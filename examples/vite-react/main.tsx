import { AskbackProvider, Inbox } from '@askback/react'
import '@askback/react/styles.css'
import { createRoot } from 'react-dom/client'

createRoot(document.getElementById('root')!).render(
  <AskbackProvider url="/askback" personId="ada">
    <Inbox />
  </AskbackProvider>,
)
