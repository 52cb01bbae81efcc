import { MessageCircleQuestionMarkIcon } from '../icons.js'
import { useId, useState, type KeyboardEvent } from 'react'
import { focusEnclosingCard, useHasMounted } from '../card-focus.js'
import { SafeText } from '../content/safe-text.js'
import { useCardGuard } from '../guard/card-guard.js'
import { optionIndexOf, isCommandKey, isSubmitKey, SubmitButton } from '../interaction/controls.js'
import { InteractionCard } from '../interaction/interaction-card.js'
import type { InteractionProps } from '../renderers.js'
import { UnknownInteraction } from '../interaction/unknown-interaction.js'
import { QuestionNote, QuestionOptions } from './question-options.js'
import { HeaderText, QuestionSummary } from './question-summary.js'
import { useQuestion, type QuestionControl } from './use-question.js'
import { useLabels } from '../labels.js'

/**
 * The card of one to four questions, one step each. Digits choose an option, `Enter` continues and finally sends.
 *
 * @example
 * <QuestionPrompt interaction={interaction} />
 */
export function QuestionPrompt({ interaction, open = interaction.status === 'pending' }: InteractionProps) {
  const t = useLabels()
  const control = useQuestion(interaction, open)
  const guard = useCardGuard()
  const { isArmed } = guard
  const hasMounted = useHasMounted()
  const questionId = useId()
  // The step with an open note field. Most answers need no note, so it is closed at first.
  const [notingAt, setNotingAt] = useState<number | null>(null)
  if (!control) return <UnknownInteraction interaction={interaction} open={open} />
  const { questions, step, goTo, isComplete, canAnswer } = control
  const question = questions[step]!
  const isNoting = notingAt === step || control.replies[step]!.note !== ''
  const isLast = step === questions.length - 1
  const title =
    questions.length === 1 ? t('The agent asks') : t('{count} questions for you', { count: questions.length })

  const continueOrSubmit = (from: Element) => {
    // A person who went back and changed an earlier answer need not go through the other steps again.
    if (isComplete) {
      if (isArmed) control.submit()
    } else if (control.isAnswered(step)) moveTo(nextUnanswered(control), from)
  }
  const moveTo = (to: number, from: Element) => {
    focusEnclosingCard(from)
    goTo(to)
  }

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    if (isSubmitKey(event)) {
      event.preventDefault()
      return continueOrSubmit(event.currentTarget)
    }
    if (!isCommandKey(event) || !canAnswer) return
    const digit = optionIndexOf(event)
    const option = digit === null ? undefined : question.options[digit]
    if (option) control.pick(step, option.label)
    else if (digit !== null && digit === question.options.length) control.pickOther(step)
    else return
    event.preventDefault()
  }

  return (
    <InteractionCard
      control={control}
      open={open}
      guard={guard}
      icon={<MessageCircleQuestionMarkIcon />}
      title={title}
      summary={<QuestionSummary interaction={control.interaction} questions={questions} />}
      unsent={control.unsent}
      onKeyDown={onKeyDown}
      onRetry={control.submit}
    >
      {questions.length > 1 && <Steps control={control} />}
      <div className="ab-question" dir="auto">
        {questions.length === 1 && question.header !== undefined && question.header !== '' && (
          <span className="ab-chip">
            <HeaderText text={question.header} />
          </span>
        )}
        <p className="ab-question-text" id={questionId} dir="auto">
          <SafeText text={question.question} />
        </p>
      </div>
      <QuestionOptions
        key={step}
        control={control}
        step={step}
        labelledBy={questionId}
        hasMounted={hasMounted}
      />
      {isNoting && <QuestionNote key={`note-${step}`} control={control} step={step} />}
      <div className="ab-card-footer">
        {!isLast && (
          <button
            type="button"
            className="ab-button"
            disabled={!control.isAnswered(step) || !canAnswer}
            onClick={(event) => moveTo(step + 1, event.currentTarget)}
          >
            {t('Next')}
          </button>
        )}
        {(isLast || isComplete) && (
          <SubmitButton control={control} disabled={!isComplete || !isArmed} onPress={control.submit}>
            {t('Submit')}
          </SubmitButton>
        )}
        {!isNoting && question.options.length > 0 && (
          <button
            type="button"
            className="ab-button"
            data-tone="quiet"
            disabled={!canAnswer}
            onClick={() => setNotingAt(step)}
          >
            {t('Add a note')}
          </button>
        )}
        {question.options.length > 0 && (
          <span className="ab-hint">{t(question.multiSelect ? 'Choose any number' : 'Choose one')}</span>
        )}
      </div>
    </InteractionCard>
  )
}

function Steps({ control: { questions, step, goTo, isAnswered } }: { control: QuestionControl }) {
  return (
    <ol className="ab-steps">
      {questions.map(({ header, question }, index) => (
        <li key={index}>
          <button
            type="button"
            className="ab-step"
            aria-current={index === step ? 'step' : undefined}
            data-answered={isAnswered(index) || undefined}
            onClick={() => goTo(index)}
          >
            <span className="ab-step-number">{index + 1}</span>
            <span className="ab-step-name" dir="auto">
              {header ? <HeaderText text={header} /> : <SafeText text={question} />}
            </span>
          </button>
        </li>
      ))}
    </ol>
  )
}

/**
 * The next question without an answer, after this one or else from the start. There is one while the card is
 * incomplete.
 */
function nextUnanswered({ questions, step, isAnswered }: QuestionControl): number {
  const open = [...questions.keys()].filter((index) => !isAnswered(index))
  return open.find((index) => index > step) ?? open[0]!
}
