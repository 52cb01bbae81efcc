import { connect, DirectTransport } from '@askback/client'
import { createDesk, createHost } from '@askback/core'
import { AskbackProvider, Inbox } from '@askback/react'
import '@askback/react/styles.css'
import { indexedDbStore } from '@askback/store-indexeddb'
import { createRoot } from 'react-dom/client'

const desk = createDesk({ store: await indexedDbStore({ name: 'notes' }) })
const host = createHost({ desk, onError: console.error })
const transport = new DirectTransport(host, { actor: { id: 'me' } })
createRoot(document.getElementById('root')!).render(
  <AskbackProvider transport={transport} personId="me">
    <Inbox />
  </AskbackProvider>,
)

const session = connect(host).session('notes')
const folder = await session.choose('Where do new notes go?', ['Inbox', 'Archive'], { key: 'folder' })
console.log(`New notes go to ${folder}.`)
