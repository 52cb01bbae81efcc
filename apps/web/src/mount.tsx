import type { Transport } from '@askback/client'
import { AskbackProvider } from '@askback/react'
import { shikiHighlighter } from '@askback/react/highlighting'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.js'
import { useKindRenderers } from './kind-renderers.js'
import '@askback/react/styles.css'
import './app.css'

export interface AppOptions {
  /** A text above every page. */
  banner?: string
  /** The id of the signed-in person. */
  personId?: string | undefined
}

/** Renders the app into `#root`, on any transport. */
export function mount(transport: Transport, { personId, ...options }: AppOptions = {}): void {
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <ConnectedApp transport={transport} {...options} personId={personId} />
    </StrictMode>,
  )
}

function ConnectedApp({ transport, personId, ...options }: AppOptions & { transport: Transport }) {
  const renderers = useKindRenderers(transport)
  return (
    <AskbackProvider
      transport={transport}
      renderers={renderers}
      highlighter={shikiHighlighter}
      {...(personId !== undefined && { personId })}
    >
      <App {...options} />
    </AskbackProvider>
  )
}
