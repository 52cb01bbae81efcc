import { AskbackProvider, Conversation } from '@askback/react'

// A server component: it can use these only because they are client modules.
export default function Page() {
  return (
    <AskbackProvider url="https://gateway.invalid">
      <Conversation sessionId="deploy" />
      <div className="ab-card" id="system" />
      <div data-theme="light">
        <div className="ab-card" id="light" />
      </div>
      <div data-theme="dark">
        <div className="ab-card" id="dark" />
      </div>
    </AskbackProvider>
  )
}
