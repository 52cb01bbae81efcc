import type { Interaction, Question } from '@askback/protocol'
import { ShownText } from '../content/shown-text.js'
import { HeaderText } from './header-text.js'
import { repliesIn } from './reply-draft.js'

/** What was chosen, question by question; without an answer, what was asked. */
export function QuestionSummary({
  interaction,
  questions,
}: {
  interaction: Interaction
  questions: Question[]
}) {
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
                  <span className="ab-quiet">{reply.selected.length > 0 ? 'Selected: ' : 'Answered: '}</span>
                  <Choices
                    choices={[...reply.selected, ...(reply.other === undefined ? [] : [reply.other])]}
                  />
                  {reply.note !== undefined && (
                    <span className="ab-summary-note">
                      <span className="ab-quiet">Note: </span>
                      <bdi>
                        <ShownText text={reply.note} />
                      </bdi>
                    </span>
                  )}
                </>
              ) : (
                <span className="ab-quiet" dir="auto">
                  <ShownText text={question} />
                </span>
              )}
            </span>
          </li>
        )
      })}
    </ul>
  )
}

/** Each on its own, as a label may hold a comma. */
function Choices({ choices }: { choices: string[] }) {
  return choices.map((choice, index) => (
    <span key={index} className="ab-choice">
      <bdi>
        <ShownText text={choice} />
      </bdi>
    </span>
  ))
}
