import { AskbackProvider, Inbox } from '@askback/react'

export default function Page() {
  return (
    <AskbackProvider url="/askback" webSocket={false} personId="ada">
      <Inbox />
    </AskbackProvider>
  )
}
