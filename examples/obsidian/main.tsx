import { DirectTransport } from '@askback/client'
import { createDesk, createHost, type Desk } from '@askback/core'
import { AskbackProvider, Inbox } from '@askback/react'
import '@askback/react/styles.css'
import { indexedDbStore } from '@askback/store-indexeddb'
import { ItemView, Notice, Plugin, type WorkspaceLeaf } from 'obsidian'
import { createRoot } from 'react-dom/client'

const VIEW = 'askback-inbox'

export default class AskbackPlugin extends Plugin {
  override async onload(): Promise<void> {
    const store = await indexedDbStore({ name: VIEW })
    const desk = createDesk({ store })
    this.register(() => (desk.close(), void store.close()))
    this.registerView(VIEW, (leaf) => new InboxView(leaf, desk))
    this.addRibbonIcon('inbox', 'Askback', () =>
      this.app.workspace.getLeaf(true).setViewState({ type: VIEW }),
    )
    this.addCommand({ id: 'tidy', name: 'Ask before tidying up', callback: () => void tidyUp(desk) })
  }
}

class InboxView extends ItemView {
  getViewType = () => VIEW
  getDisplayText = () => 'Askback'
  constructor(leaf: WorkspaceLeaf, desk: Desk) {
    super(leaf)
    const host = createHost({ desk, onError: (error) => void new Notice(String(error)) })
    const transport = new DirectTransport(host, { actor: { id: 'me' } })
    const root = createRoot(this.contentEl)
    root.render(
      <AskbackProvider transport={transport} personId="me">
        <Inbox />
      </AskbackProvider>,
    )
    this.register(() => root.unmount())
  }
}

async function tidyUp(desk: Desk): Promise<void> {
  const { settlement } = await desk.session('vault').reviewPlan({ plan: 'Move old notes.', timeoutMs: null })
  void new Notice(`The plan was ${settlement}.`)
}
