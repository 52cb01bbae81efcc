import {
  answerOfPrompt,
  errorMessage,
  spellOutLine,
  valuesOfAnswer,
  type FormRequest,
  type FormValues,
  type KindPrompt,
} from '@askback/protocol'
import { CircleQuestionMarkIcon } from '../icons.js'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { useClient } from '../askback-provider.js'
import { JsonInput } from '../content/call-input.js'
import { SafeText } from '../content/safe-text.js'
import { InteractionCard } from '../interaction/interaction-card.js'
import { PlainAnswer } from '../interaction/settlement.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { useInteraction, type InteractionControl } from '../interaction/use-interaction.js'
import { useLabels } from '../labels.js'
import type { InteractionProps } from '../renderers.js'
import { useDraft } from '../use-draft.js'
import { FormCard } from './form-card.js'
import { FormMessage } from './form-prompt.js'
import { FormSummary } from './form-summary.js'
import { isDraft, useFormControl } from './use-form.js'
import { usePrompt } from './use-prompt.js'

/**
 * The card of a kind that has no renderer: the whole request, and a form that the gateway makes of the answer's schema. A kind that the
 * gateway does not have any more can be read and cancelled.
 */
export function CustomKindPrompt({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
  const t = useLabels()
  const control = useInteraction(interaction, open)
  const { reload, ...state } = usePrompt(interaction)
  // The definition may have gone while this page was open.
  const isRefused = control.error?.code === 'unknown_kind'
  useEffect(() => {
    if (isRefused) reload()
  }, [isRefused, reload])

  if (state.status === 'unsupported') return <UnknownInteraction interaction={interaction} open={open} />
  if (state.status === 'ready')
    return <PromptCard interaction={interaction} open={open} control={control} prompt={state.prompt} />
  return (
    <InteractionCard
      control={control}
      open={open}
      icon={<CircleQuestionMarkIcon />}
      title={t('The agent needs an answer')}
      summary={<PlainAnswer answer={control.interaction.answer} />}
    >
      <JsonInput input={interaction.request} title={t('The request')} />
      {state.status === 'loading' && <p className="ab-quiet">{t('Loading the form…')}</p>}
      {state.status !== 'loading' && (
        <p className="ab-card-text" role="status">
          {state.status === 'unanswerable' ? (
            <SafeText text={state.reason} />
          ) : (
            <>
              {t('The form could not be loaded.')} <SafeText text={state.error.message} />
            </>
          )}
        </p>
      )}
      {state.status !== 'loading' && <Remedies control={control} reload={reload} />}
    </InteractionCard>
  )
}

interface PromptCardProps extends Required<Pick<InteractionProps, 'interaction'>> {
  open: boolean
  control: InteractionControl
  prompt: KindPrompt
}

function PromptCard({ interaction, open, control, prompt }: PromptCardProps) {
  const t = useLabels()
  const [draft, setDraft] = useDraft(control.interaction, isDraft)
  const { fields, initialValues, text } = prompt
  const request = useMemo<FormRequest>(
    () => ({ message: text ?? '', schema: { fields }, initialValues }),
    [text, fields, initialValues],
  )
  const start = useMemo(
    () => ({ ...initialValues, ...valuesOfAnswer(prompt, interaction.progress) }),
    [initialValues, prompt, interaction.progress],
  )
  const answerFrom = useCallback((values: FormValues) => answerOfPrompt(prompt, values), [prompt])
  const form = useFormControl({ control, request, draft, setDraft, start, answerFrom })
  const { answer } = control.interaction
  if (!form) return null
  return (
    <FormCard
      control={form}
      open={open}
      icon={<CircleQuestionMarkIcon />}
      title={spellOutLine(prompt.title, 'prose')}
      summary={
        <FormSummary
          values={answer === undefined ? null : valuesOfAnswer(prompt, answer)}
          request={request}
        />
      }
    >
      {text === undefined ? (
        <JsonInput input={interaction.request} title={t('The request')} />
      ) : (
        <FormMessage text={text} />
      )}
    </FormCard>
  )
}

/** What a person can do about a request that cannot be answered. */
function Remedies({ control, reload }: { control: InteractionControl; reload: () => void }) {
  const t = useLabels()
  const { transport } = useClient()
  const [failure, setFailure] = useState<string | null>(null)
  const { sessionId, interactionId } = control.interaction
  const cancel = () => {
    setFailure(null)
    transport.cancel(sessionId, interactionId).catch((error: unknown) => setFailure(errorMessage(error)))
  }
  return (
    <div className="ab-card-footer">
      <button type="button" className="ab-button" onClick={reload}>
        {t('Load the form again')}
      </button>
      <button type="button" className="ab-button" onClick={cancel}>
        {t('Cancel the request')}
      </button>
      {failure !== null && (
        <span className="ab-field-error" role="alert">
          <SafeText text={failure} />
        </span>
      )}
    </div>
  )
}
