import { repliesIn, spellOut, type Interaction, type Question } from '@askback/protocol'
import { SafeText } from '../content/safe-text.js'
import { useLabels } from '../labels.js'

/** The chosen answers, question by question; without an answer, the questions. */
export function QuestionSummary({
  interaction,
  questions,
}: {
  interaction: Interaction
  questions: Question[]
}) {
  const t = useLabels()
  const replies = repliesIn(interaction.answer)
  return (
    <ul className="ab-summary">
      {questions.map(({ header, question }, index) => {
        const reply = replies[index]
        return (
          <li key={index} className="ab-summary-line">
            {header !== undefined && header !== '' && (
              <span className="ab-chip" dir="auto">
                <HeaderText text={header} />
              </span>
            )}
            <span className="ab-summary-text">
              {reply ? (
                <>
                  <span className="ab-quiet">
                    {t(reply.selected.length > 0 ? 'Selected:' : 'Answered:')}{' '}
                  </span>
                  <Choices
                    choices={[...reply.selected, ...(reply.other === undefined ? [] : [reply.other])]}
                  />
                  {reply.note !== undefined && (
                    <span className="ab-summary-note">
                      <span className="ab-quiet">{t('Note:')} </span>
                      <bdi>
                        <SafeText text={reply.note} />
                      </bdi>
                    </span>
                  )}
                </>
              ) : (
                <span className="ab-quiet" dir="auto">
                  <SafeText text={question} />
                </span>
              )}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

/** Each choice has an element of its own, as a label may contain a comma. */
function Choices({ choices }: { choices: string[] }) {
  return choices.map((choice, index) => (
    <span key={index} className="ab-choice">
      <bdi>
        <SafeText text={choice} />
      </bdi>
    </span>
  ))
}

const MAX_CHARACTERS = 12

/** The header of a question, shortened if it is long, with the whole text as a tooltip and for screen readers. */
export function HeaderText({ text }: { text: string }) {
  const characters = Array.from(text)
  if (characters.length <= MAX_CHARACTERS) return <SafeText text={text} />
  return (
    <span title={spellOut(text, 'prose')}>
      <span aria-hidden>
        <SafeText text={`${characters.slice(0, MAX_CHARACTERS).join('').trimEnd()}…`} />
      </span>
      <span className="ab-sr-only">
        <SafeText text={text} />
      </span>
    </span>
  )
}
