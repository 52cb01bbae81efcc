import { useId } from 'react'
import { hidesSomething } from '@askback/protocol'
import { commandIn } from '../content/command.js'
import { LongText } from '../content/long-text.js'
import { GrowingEditor } from '../interaction/growing-editor.js'
import type { ApprovalControl } from './use-approval.js'

/** Changes what will run. Nothing else of the input does. */
export function ApprovalEditor({ control, isAskedFor }: { control: ApprovalControl; isAskedFor: boolean }) {
  const { edited, edit, editError, request, canAnswer } = control
  const errorId = useId()
  const text = edited ?? ''
  const what = commandIn(request.input) === null ? 'input, as JSON' : 'command'
  return (
    <div className="ab-editor">
      <GrowingEditor
        text={text}
        leastRows={3}
        autoFocus={isAskedFor}
        disabled={!canAnswer}
        label={`The ${what}`}
        errorId={editError === null ? undefined : errorId}
        onChange={edit}
      />
      {editError !== null && (
        <p id={errorId} className="ab-field-error">
          {editError}
        </p>
      )}
      {hidesSomething(text, 'code') && (
        <div className="ab-editor-hidden">
          <p className="ab-field-error">This text holds characters that can’t be seen in the field above:</p>
          <LongText text={text} label="The text with hidden characters spelled out" />
        </div>
      )}
    </div>
  )
}
