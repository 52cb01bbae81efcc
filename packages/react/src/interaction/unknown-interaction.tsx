import { copyJson, isBuiltInKind, type Json } from '@askback/protocol'
import { CircleQuestionMarkIcon } from '../icons.js'
import { useId, useState } from 'react'
import { LongText } from '../content/long-text.js'
import { SafeText } from '../content/safe-text.js'
import { useCardGuard, type CardGuard } from '../guard/card-guard.js'
import { useDraft } from '../use-draft.js'
import { GuardedSubmit } from './guarded-submit.js'
import { InteractionCard } from './interaction-card.js'
import type { InteractionProps } from '../renderers.js'
import { useInteraction, type InteractionControl } from './use-interaction.js'
import { LabelWithNodes } from '../label-with-nodes.js'
import { useLabels, type Translate } from '../labels.js'

/** Shows an interaction as JSON: one of a kind without a renderer, or a request that does not fit its kind. */
export function UnknownInteraction({
  interaction,
  open = interaction.status === 'pending',
}: InteractionProps) {
  const t = useLabels()
  const control = useInteraction(interaction, open)
  const answer = useJsonAnswer(control)
  const guard = useCardGuard()
  // Its answers have a known form, so a request that can't be drawn must not be answered as JSON: nobody should decide on
  // what the page does not understand.
  const isBuiltIn = isBuiltInKind(interaction.kind)
  return (
    <InteractionCard
      control={control}
      open={open}
      guard={guard}
      icon={<CircleQuestionMarkIcon />}
      title={t('The agent needs an answer')}
      onRetry={answer.submit}
      unsent={answer.text.trim()}
      summary={<AnswerAsJson answer={control.interaction.answer} />}
    >
      <p className="ab-card-text">
        <LabelWithNodes
          label={
            isBuiltIn
              ? 'This page can’t show a request of the kind “{kind}”. Answer it on a surface that supports it, or let it time out. The request:'
              : 'This page can’t show a request of the kind “{kind}”. Answer it on a surface that supports it, or here as JSON. The request:'
          }
          nodes={{ kind: <SafeText text={interaction.kind} as="code" /> }}
        />
      </p>
      <div className="ab-code-block">
        <LongText text={JSON.stringify(interaction.request, null, 2)} label={t('The request as JSON')} />
      </div>
      {!isBuiltIn && <JsonAnswer control={control} answer={answer} guard={guard} />}
    </InteractionCard>
  )
}

function AnswerAsJson({ answer }: { answer: unknown }) {
  const t = useLabels()
  if (answer === undefined) return null
  return (
    <div className="ab-summary">
      <LongText text={JSON.stringify(answer, null, 2)} label={t('The answer as JSON')} />
    </div>
  )
}

export interface JsonAnswerControl {
  text: string
  setText: (text: string) => void
  /** Why the text cannot be sent; `null` if it can. */
  error: string | null
  submit: () => void
}

/**
 * An answer written as JSON. Only the gateway has the schema of a custom kind: it returns what does not fit with the
 * reason, and the text is still there.
 */
function useJsonAnswer(control: InteractionControl): JsonAnswerControl {
  const t = useLabels()
  const [draft, setText] = useDraft(control.interaction, isText)
  const text = draft ?? ''
  const parsed = parse(text, t)
  return {
    text,
    setText,
    error: 'error' in parsed ? parsed.error : null,
    submit() {
      if (control.canAnswer && 'value' in parsed) void control.respond(parsed.value)
    },
  }
}

export interface JsonAnswerProps {
  control: InteractionControl
  answer: JsonAnswerControl
  guard: CardGuard
}

function JsonAnswer({ control, answer, guard }: JsonAnswerProps) {
  const t = useLabels()
  const { text, setText, error, submit } = answer
  const [isTouched, setTouched] = useState(false)
  const errorId = useId()
  const isWrong = isTouched && text.trim() !== '' && error !== null

  return (
    <>
      <textarea
        className="ab-input ab-editor-text"
        rows={Math.min(18, Math.max(3, text.split('\n').length + 1))}
        value={text}
        spellCheck={false}
        disabled={!control.canAnswer}
        placeholder='{ "answer": … }'
        aria-label={t('Your answer, as JSON')}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? errorId : undefined}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => setTouched(true)}
      />
      {isWrong && (
        <p id={errorId} className="ab-field-error">
          {error}
        </p>
      )}
      <GuardedSubmit control={control} guard={guard} disabled={error !== null} onPress={submit} />
    </>
  )
}

function parse(text: string, t: Translate): { value: Json } | { error: string } {
  try {
    return { value: copyJson(JSON.parse(text), 'The answer') }
  } catch (error) {
    return {
      error: t('This is not JSON yet: {reason}', {
        reason: error instanceof Error ? error.message : String(error),
      }),
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
