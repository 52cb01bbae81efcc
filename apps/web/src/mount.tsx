import type { Transport } from '@askback/client'
import { TransportProvider } from '@askback/react'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.js'
import '@askback/react/styles.css'
import './app.css'

export interface MountOptions {
  /** Stands above every page. */
  banner?: string
  /** The id of the person who is signed in. */
  personId?: string | undefined
}

/** The whole app, on whatever transport it is given. */
export function mount(transport: Transport, { personId, ...options }: MountOptions = {}): void {
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <TransportProvider transport={transport} {...(personId !== undefined && { personId })}>
        <App {...options} />
      </TransportProvider>
    </StrictMode>,
  )
}
