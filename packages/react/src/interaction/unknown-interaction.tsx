import { CircleHelp } from 'lucide-react'
import { LongText } from '../content/long-text.js'
import { ShownText } from '../content/shown-text.js'
import { InteractionCard } from './interaction-card.js'
import type { InteractionProps } from './renderers.js'
import { useInteraction } from './use-interaction.js'

/** A kind that nobody here knows, or a request that is not of the kind it says. */
export function UnknownInteraction({
  interaction,
  open = interaction.status === 'pending',
}: InteractionProps) {
  const control = useInteraction(interaction, open)
  return (
    <InteractionCard control={control} open={open} icon={<CircleHelp />} title="Something is asked">
      <p className="ab-card-text">
        This page can’t show a request of the kind “
        <ShownText text={interaction.kind} as="code" />
        ”. Answer it where it is known, or let it time out. This is what was asked:
      </p>
      <div className="ab-code-block">
        <LongText text={JSON.stringify(interaction.request, null, 2)} label="The request as JSON" />
      </div>
    </InteractionCard>
  )
}
