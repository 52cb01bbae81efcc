import type { Question } from '@askback/protocol'
import { useId, useState } from 'react'
import { LongText } from '../content/long-text.js'
import { SafeText } from '../content/safe-text.js'
import type { QuestionControl } from './use-question.js'
import { useLabels } from '../labels.js'

export interface QuestionOptionsProps {
  control: QuestionControl
  step: number
  /** The id of the element with the question. */
  labelledBy: string
  /** Whether the card was on the page before: see `useHasMounted`. */
  hasMounted: boolean
}

type QuestionOption = Question['options'][number]

/** The options of one question, with the preview of the one that is hovered, focused or chosen last. */
export function QuestionOptions({ control, step, labelledBy, hasMounted }: QuestionOptionsProps) {
  const t = useLabels()
  const { options, multiSelect = false } = control.questions[step]!
  const { selected, isOther, otherText } = control.replies[step]!
  const name = useId()
  const [previewed, setPreviewed] = useState<string | null>(null)
  const hasPreviews = options.some(({ preview }) => preview !== undefined)
  const preview = options.find(({ label }) => label === (previewed ?? selected.at(-1)))?.preview
  const isDisabled = !control.canAnswer

  return (
    <div className="ab-options" data-previews={hasPreviews || undefined}>
      <fieldset className="ab-option-list" disabled={isDisabled} aria-labelledby={labelledBy}>
        {options.map((option, index) => (
          <OptionRow
            key={option.label}
            option={option}
            number={index + 1}
            name={name}
            type={multiSelect ? 'checkbox' : 'radio'}
            isChosen={selected.includes(option.label)}
            onPick={() => control.pick(step, option.label)}
            onPreview={(isPreviewed) => setPreviewed(isPreviewed ? option.label : null)}
          />
        ))}
        <div className="ab-option" data-chosen={isOther || undefined}>
          {options.length > 0 && (
            <label className="ab-option-label">
              <input
                className="ab-option-input"
                type={multiSelect ? 'checkbox' : 'radio'}
                name={name}
                checked={isOther}
                onChange={() => control.pickOther(step)}
              />
              <span className="ab-option-text">{t('Other')}</span>
              <kbd className="ab-key">{options.length + 1}</kbd>
            </label>
          )}
          {(isOther || otherText !== '') && (
            <textarea
              className="ab-input"
              dir="auto"
              rows={Math.min(6, otherText.split('\n').length)}
              value={otherText}
              placeholder={t(options.length > 0 ? 'Your own answer' : 'Your answer')}
              aria-label={t(options.length > 0 ? 'Other: your own answer' : 'Your answer')}
              // A person who chose "Other" wants to type, but a card that has just appeared must not take the focus.
              autoFocus={hasMounted && isOther && otherText === '' && options.length > 0}
              onChange={(event) => control.typeOther(step, event.target.value)}
            />
          )}
        </div>
      </fieldset>
      {hasPreviews && (
        <div className="ab-option-preview" aria-live="polite">
          {preview === undefined ? (
            <p className="ab-quiet">{t('Choose an option to see it here.')}</p>
          ) : (
            <LongText text={preview} label={t('Preview of the option')} />
          )}
        </div>
      )}
    </div>
  )
}

interface OptionRowProps {
  option: QuestionOption
  number: number
  name: string
  type: 'radio' | 'checkbox'
  isChosen: boolean
  onPick: () => void
  onPreview: (isPreviewed: boolean) => void
}

function OptionRow({ option, number, name, type, isChosen, onPick, onPreview }: OptionRowProps) {
  return (
    <label
      className="ab-option ab-option-label"
      dir="auto"
      data-chosen={isChosen || undefined}
      onMouseEnter={() => onPreview(true)}
      onMouseLeave={() => onPreview(false)}
    >
      <input
        className="ab-option-input"
        type={type}
        name={name}
        checked={isChosen}
        onChange={onPick}
        onFocus={() => onPreview(true)}
        onBlur={() => onPreview(false)}
      />
      <span className="ab-option-text">
        <SafeText text={option.label} />
        {option.description !== undefined && option.description !== '' && (
          <span className="ab-option-description" dir="auto">
            <SafeText text={option.description} />
          </span>
        )}
      </span>
      {number <= 9 && <kbd className="ab-key">{number}</kbd>}
    </label>
  )
}

/** A note that is sent with the answer. */
export function QuestionNote({ control, step }: { control: QuestionControl; step: number }) {
  const t = useLabels()
  const { replies, canAnswer, writeNote } = control
  const { note } = replies[step]!
  return (
    <textarea
      className="ab-input"
      dir="auto"
      rows={Math.min(6, Math.max(2, note.split('\n').length))}
      value={note}
      disabled={!canAnswer}
      placeholder={t('A note that goes with your answer')}
      aria-label={t('Note')}
      autoFocus={note === ''}
      onChange={(event) => writeNote(step, event.target.value)}
    />
  )
}
