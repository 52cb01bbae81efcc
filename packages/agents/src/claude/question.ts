import type { Question, QuestionAnswer, QuestionReply, QuestionRequest } from '@askback/protocol'
import { chosenLabels } from '../session/model-messages.js'

interface Annotation {
  notes?: string
  preview?: string
}

/** The input from which AskUserQuestion reads its answers. It finds an answer by the text of its question. */
export interface AnsweredInput extends Record<string, unknown> {
  questions: unknown[]
  answers: Record<string, string | string[]>
  annotations?: Record<string, Annotation>
}

export function questionRequest(input: Record<string, unknown>): QuestionRequest {
  return { questions: questionsIn(input) }
}

/** Several labels are passed as a list: in a text joined by commas, a label with a comma would look like two. */
export function answeredInput(input: Record<string, unknown>, { answers }: QuestionAnswer): AnsweredInput {
  const asked = questionsIn(input)
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
    const chosen = chosenLabels(reply)
    result.answers[text] = question.multiSelect ? chosen : (chosen[0] ?? '')
    const annotation = annotationOf(question, reply)
    if (annotation) annotations[text] = annotation
  }
  if (Object.keys(annotations).length > 0) result.annotations = annotations
  return result
}

function questionsIn({ questions }: Record<string, unknown>): Question[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the desk refuses to ask anything else, so nobody can have answered it
  return questions as Question[]
}

/** Answers are keyed by text, so of two questions with the same text one would be lost. */
function distinctTexts(questions: Question[]): string[] {
  const used = new Set<string>()
  return questions.map(({ question }) => {
    let text = question
    for (let count = 2; used.has(text); count++) text = `${question} (${count})`
    used.add(text)
    return text
  })
}

function annotationOf(question: Question, { selected, note }: QuestionReply): Annotation | null {
  const preview = question.options.find(({ label }) => selected.includes(label))?.preview
  if (note === undefined && preview === undefined) return null
  return { ...(note !== undefined && { notes: note }), ...(preview !== undefined && { preview }) }
}
