import { formAnswer, type FormValues, type Interaction } from '@askback/protocol'
import { ClipboardListIcon } from '../icons.js'
import { Markdown } from '../content/markdown.js'
import type { InteractionProps } from '../renderers.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { FormCard } from './form-card.js'
import { FormSummary } from './form-summary.js'
import { useForm } from './use-form.js'
import { useLabels } from '../labels.js'

/**
 * The card of a form, with an error next to each field that needs one. It sends nothing while a field is wrong.
 *
 * @example
 * <FormPrompt interaction={interaction} />
 */
export function FormPrompt({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
  const t = useLabels()
  const control = useForm(interaction, open)
  if (!control) return <UnknownInteraction interaction={interaction} open={open} />
  const { request } = control
  return (
    <FormCard
      control={control}
      open={open}
      icon={<ClipboardListIcon />}
      title={t('A form to fill in')}
      summary={<FormSummary values={answeredValues(control.interaction)} request={request} />}
    >
      <FormMessage text={request.message} />
    </FormCard>
  )
}

/** A text above the fields of a form. */
export function FormMessage({ text }: { text: string }) {
  return (
    text !== '' && (
      <div className="ab-form-message">
        <Markdown text={text} />
      </div>
    )
  )
}

function answeredValues({ answer }: Interaction): FormValues | null {
  return formAnswer.safeParse(answer).data?.values ?? null
}
