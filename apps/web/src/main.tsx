import { WebSocketTransport } from '@askback/client'
import { TransportProvider } from '@askback/react'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.js'
import { applyTheme, theme } from './theme.js'
import '@askback/react/styles.css'
import './app.css'

applyTheme(theme())

const transport = new WebSocketTransport({ baseUrl: location.origin })

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <TransportProvider transport={transport}>
      <App />
    </TransportProvider>
  </StrictMode>,
)
