import { askedQuestion } from '@askback/client/testing'
import { screen } from '@testing-library/react'
import { useComposer } from '../index.js'
import { advanceTime, renderSession } from '../render-session.test.helper.js'

export function Composer({ sessionId = 's1' }: { sessionId?: string }) {
  const composer = useComposer(sessionId)
  const { text, setText, target, recipient, choices, choose, canSend, send, notice, error } = composer
  return (
    <>
      <p>{target ? `Replying to: ${target.about}` : `To: ${recipient}`}</p>
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      <button onClick={() => choose(null)}>Leave</button>
      {choices.map(({ interaction, about }) => (
        <button key={interaction.interactionId} onClick={() => choose(interaction.interactionId)}>
          {`Choose ${about}`}
        </button>
      ))}
      <button onClick={() => void send()} disabled={!canSend}>
        Send
      </button>
      <p>{notice}</p>
      <p>{error?.message}</p>
    </>
  )
}

export async function composer(events = askedQuestion('i1')) {
  const shown = await renderSession({ events, ui: <Composer /> })
  return {
    ...shown,
    sends: async (text = '') => {
      if (text !== '') await shown.user.type(screen.getByRole('textbox'), text)
      await shown.user.click(screen.getByRole('button', { name: 'Send' }))
      await advanceTime(0)
      return shown.transport.calls.findLast(({ method }) => method === 'send')?.args[1]
    },
  }
}
