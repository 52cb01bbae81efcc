import { memo } from 'react'
import { ShownText } from '../content/shown-text.js'
import { BlockView } from './block-view.js'
import type { Row } from './rows.js'

const TURN_ENDS = {
  interrupted: 'Interrupted',
  error: 'The turn ended with an error',
  agent_lost: 'The agent stopped unexpectedly. Your next message starts it again.',
}

export const RowView = memo(function RowView({ row }: { row: Row }) {
  switch (row.type) {
    case 'block':
      return (
        <div className="ab-row" data-type={row.block.type}>
          <BlockView block={row.block} />
        </div>
      )
    case 'turn_end':
      return <p className="ab-row ab-divider">{TURN_ENDS[row.end]}</p>
    case 'container':
      return <ContainerView container={row.container} />
  }
})

function ContainerView({ container }: { container: Extract<Row, { type: 'container' }>['container'] }) {
  switch (container.type) {
    case 'user_message':
      return (
        <div className="ab-row ab-message">
          <span className="ab-only-spoken">{container.by.name ?? container.by.id} wrote: </span>
          <div className="ab-message-text" dir="auto">
            <ShownText text={container.text} />
          </div>
        </div>
      )
    case 'error':
      return (
        <p className="ab-row ab-notice" data-tone="bad" dir="auto">
          <ShownText text={container.message} />
        </p>
      )
    case 'context_cleared':
      return <p className="ab-row ab-divider">Context cleared</p>
  }
}
