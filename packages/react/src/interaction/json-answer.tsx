import { copyJson, type Json } from '@askback/protocol'
import { useId, useState } from 'react'
import type { CardGuard } from '../guard/card-guard.js'
import { GuardHint } from '../guard/must-see.js'
import { useDraft } from '../use-draft.js'
import { SubmitButton } from './submit-button.js'
import type { InteractionControl } from './use-interaction.js'

export interface JsonAnswerControl {
  text: string
  setText: (text: string) => void
  /** Why it cannot be sent. */
  error: string | null
  submit: () => void
}

/**
 * An answer of any shape. Only the gateway has the schema of a kind that is not ours: what does not fit comes back with the
 * reason, and what was written is still there.
 */
export function useJsonAnswer(control: InteractionControl): JsonAnswerControl {
  const [draft, setText] = useDraft(control.interaction, isText)
  const text = draft ?? ''
  const parsed = parse(text)
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

export function JsonAnswer({ control, answer, guard }: JsonAnswerProps) {
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
        aria-label="Your answer, as JSON"
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
      <div className="ab-card-footer">
        <SubmitButton
          control={control}
          disabled={!guard.isArmed || !guard.isSeen || error !== null}
          onPress={submit}
        >
          Submit
        </SubmitButton>
      </div>
      {control.canAnswer && <GuardHint guard={guard} enables="Submit" />}
    </>
  )
}

function parse(text: string): { value: Json } | { error: string } {
  try {
    return { value: copyJson(JSON.parse(text), 'The answer') }
  } catch (error) {
    return {
      error: error instanceof Error ? `This is not JSON yet: ${error.message}` : 'This is not JSON yet.',
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
