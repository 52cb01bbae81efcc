import { CircleHelp } from 'lucide-react'
import { LongText } from '../content/long-text.js'
import { ShownText } from '../content/shown-text.js'
import { useCardGuard } from '../guard/card-guard.js'
import { InteractionCard } from './interaction-card.js'
import { JsonAnswer, useJsonAnswer } from './json-answer.js'
import type { InteractionProps } from './renderers.js'
import { useInteraction } from './use-interaction.js'

/** What one answers to these is known: a request of theirs that cannot be drawn must not be decided blindly. */
const OURS = new Set(['question', 'approval', 'plan_review', 'form'])

/** A kind that nobody here knows, or a request that is not of the kind it says. */
export function UnknownInteraction({
  interaction,
  open = interaction.status === 'pending',
}: InteractionProps) {
  const control = useInteraction(interaction, open)
  const answer = useJsonAnswer(control)
  const guard = useCardGuard()
  const isOurs = OURS.has(interaction.kind)
  return (
    <InteractionCard
      control={control}
      open={open}
      guard={guard}
      icon={<CircleHelp />}
      title="The agent needs an answer"
      onRetry={answer.submit}
      unsent={answer.text.trim()}
      summary={<Answered answer={control.interaction.answer} />}
    >
      <p className="ab-card-text">
        This page can’t show a request of the kind “
        <ShownText text={interaction.kind} as="code" />
        ”.{' '}
        {isOurs
          ? 'Answer it where it is known, or let it time out.'
          : 'Answer it where it is known, or here in JSON.'}{' '}
        The request:
      </p>
      <div className="ab-code-block">
        <LongText text={JSON.stringify(interaction.request, null, 2)} label="The request as JSON" />
      </div>
      {!isOurs && <JsonAnswer control={control} answer={answer} guard={guard} />}
    </InteractionCard>
  )
}

function Answered({ answer }: { answer: unknown }) {
  if (answer === undefined) return null
  return (
    <div className="ab-summary">
      <LongText text={JSON.stringify(answer, null, 2)} label="The answer as JSON" />
    </div>
  )
}
