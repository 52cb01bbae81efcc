import type { QuestionAnswer, QuestionReply, QuestionRequest } from '@askback/protocol'

/** What the person chose, for a model that is told in words. */
export function answerInWords(request: QuestionRequest, { answers }: QuestionAnswer): string {
  return request.questions
    .map(({ question }, index) => {
      const reply = answers[index]!
      const chosen = chosenOf(reply)
        .map((label) => JSON.stringify(label))
        .join(' and ')
      const note = reply.note === undefined ? '' : ` (note: ${reply.note})`
      return `${JSON.stringify(question)} = ${chosen}${note}`
    })
    .join('\n')
}

export function chosenOf({ selected, other }: QuestionReply): string[] {
  return other === undefined ? selected : [...selected, other]
}
