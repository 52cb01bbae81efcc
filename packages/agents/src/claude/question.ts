import type { QuestionAnswer, QuestionReply, QuestionRequest } from '@askback/protocol'
import { chosenOf } from '../session/answer-words.js'

type Question = QuestionRequest['questions'][number]

interface Annotation {
  notes?: string
  preview?: string
}

/** What AskUserQuestion reads its answers from. It matches them by the question's text. */
export interface AnsweredInput extends Record<string, unknown> {
  questions: unknown[]
  answers: Record<string, string | string[]>
  annotations?: Record<string, Annotation>
}

/** The input of AskUserQuestion as a request; what it does not know of is left out. */
export function questionRequest(input: Record<string, unknown>): QuestionRequest {
  return { questions: input['questions'] as Question[] }
}

/** What the person chose, in the words of AskUserQuestion: nothing is joined, so a label may hold a comma. */
export function answeredInput(input: Record<string, unknown>, { answers }: QuestionAnswer): AnsweredInput {
  const asked = input['questions'] as Question[]
  const texts = distinctTexts(asked)
  const result: AnsweredInput = {
    ...input,
    questions: asked.map((question, index) => ({ ...question, question: texts[index] })),
    answers: {},
  }
  const annotations: Record<string, Annotation> = {}
  for (const [index, question] of asked.entries()) {
    const reply = answers[index]!
    const text = texts[index]!
    const chosen = chosenOf(reply)
    result.answers[text] = question.multiSelect ? chosen : (chosen[0] ?? '')
    const annotation = annotationOf(question, reply)
    if (annotation) annotations[text] = annotation
  }
  if (Object.keys(annotations).length > 0) result.annotations = annotations
  return result
}

/** Two questions may have the same text; as keys of one object they would be one. */
function distinctTexts(questions: Question[]): string[] {
  const taken = new Set<string>()
  return questions.map(({ question }) => {
    let text = question
    for (let count = 2; taken.has(text); count++) text = `${question} (${count})`
    taken.add(text)
    return text
  })
}

function annotationOf(question: Question, { selected, note }: QuestionReply): Annotation | null {
  const preview = question.options.find(({ label }) => selected.includes(label))?.preview
  if (note === undefined && preview === undefined) return null
  return { ...(note !== undefined && { notes: note }), ...(preview !== undefined && { preview }) }
}
